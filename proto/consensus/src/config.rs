//! Owns the settings of consensus and their translation for openraft.

use std::sync::Arc;

use crate::error::OpenError;

/// Settings of every group on a node. All nodes should have the same times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsensusConfig {
    /// A leader's sign of life, milliseconds. It is also the time limit of one replication call, in which a
    /// follower receives up to 1 MiB of log and syncs it.
    pub heartbeat_ms: u64,
    /// A follower that hears nothing for a random time between these two, milliseconds, stands for election.
    pub election_min_ms: u64,
    pub election_max_ms: u64,
    /// Log entries after which old ones may go (a snapshot itself costs nothing until it is sent).
    pub snapshot_every_entries: u64,
    /// Applied log entries that stay, so that a follower that was away for a moment needs no snapshot.
    pub keep_entries: u64,
    /// Largest command taken, bytes.
    pub max_command_bytes: usize,
    /// Command bytes that may wait for replication on this node, all groups together.
    pub in_flight_bytes: u32,
    /// Time limit of one snapshot frame, milliseconds; the last one includes loading the state machine.
    pub frame_timeout_ms: u64,
}

impl Default for ConsensusConfig {
    fn default() -> Self {
        Self {
            heartbeat_ms: 300,
            election_min_ms: 1200,
            election_max_ms: 2400,
            snapshot_every_entries: 5000,
            keep_entries: 1000,
            max_command_bytes: (1 << 20) + (64 << 10),
            in_flight_bytes: 64 << 20,
            frame_timeout_ms: 30_000,
        }
    }
}

impl ConsensusConfig {
    pub(crate) fn validate(&self) -> Result<Arc<openraft::Config>, OpenError> {
        if self.max_command_bytes == 0 || self.max_command_bytes as u64 > u64::from(self.in_flight_bytes) {
            return Err(OpenError::Config(format!(
                "max_command_bytes ({}) must be between 1 and in_flight_bytes ({})",
                self.max_command_bytes, self.in_flight_bytes
            )));
        }
        if self.heartbeat_ms == 0 || self.snapshot_every_entries == 0 || self.frame_timeout_ms == 0 {
            return Err(OpenError::Config(
                "heartbeat_ms, snapshot_every_entries and frame_timeout_ms must not be 0".to_owned(),
            ));
        }
        let config = openraft::Config {
            cluster_name: "sextant".to_owned(),
            heartbeat_interval: self.heartbeat_ms,
            election_timeout_min: self.election_min_ms,
            election_timeout_max: self.election_max_ms,
            install_snapshot_timeout: self.frame_timeout_ms,
            snapshot_policy: openraft::SnapshotPolicy::LogsSinceLast(self.snapshot_every_entries),
            max_in_snapshot_log_to_keep: self.keep_entries,
            // Past this lag a follower gets a snapshot even if the log still reaches it; it must exceed the
            // distance between two snapshots, or the snapshot does not help.
            replication_lag_threshold: self.snapshot_every_entries.saturating_add(self.keep_entries),
            ..openraft::Config::default()
        };
        config.validate().map(Arc::new).map_err(|error| OpenError::Config(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_hold_and_contradictions_do_not() {
        assert!(ConsensusConfig::default().validate().is_ok());
        let rows = [
            ConsensusConfig { election_min_ms: 100, ..Default::default() },
            ConsensusConfig { election_max_ms: 1200, ..Default::default() },
            ConsensusConfig { max_command_bytes: 0, ..Default::default() },
            ConsensusConfig { in_flight_bytes: 10, ..Default::default() },
            ConsensusConfig { snapshot_every_entries: 0, ..Default::default() },
        ];
        for row in rows {
            assert!(matches!(row.validate(), Err(OpenError::Config(_))), "{row:?}");
        }
    }
}
