//! Every metric of the product, once: name, kind, labels, unit in the name, meaning.
//!
//! Rooms record by name; a name that is not here is a defect. Labels have few values: a route, a code, a stage, a lane,
//! a group; never a path, a collection or a person.

/// How a metric is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Only grows; its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution, in the buckets given.
    Histogram(&'static [f64]),
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// snake_case, the room's word first, the unit last.
    pub name: &'static str,
    /// How it is recorded.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
}

/// From a tenth of a millisecond to a minute.
const SECONDS: &[f64] = &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0];
const TEXTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, labels, help }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels, help }
}

const fn seconds(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Histogram(SECONDS), labels, help }
}

/// Every metric.
pub const CATALOGUE: &[Metric] = &[
    gauge("embed_queue_depth", &["lane"], "Texts that wait in an embed-node's lane."),
    Metric {
        name: "embed_batch_size",
        kind: Kind::Histogram(TEXTS),
        labels: &[],
        help: "Texts in one run of the model.",
    },
    counter("embed_tokens_total", &[], "Tokens that went through the model."),
    counter("embed_texts_total", &["lane"], "Texts that were embedded."),
    counter("embed_truncated_total", &[], "Texts that were longer than the model reads."),
    counter("embed_errors_total", &["code"], "Embed requests that were answered with an error."),
    seconds("embed_seconds", &["lane"], "Time from a request's arrival in a lane to its vectors."),
    seconds("scan_seconds", &[], "Time of one scan of a group's codes."),
    counter("scan_bytes_total", &[], "Bytes of codes that scans have read."),
    counter("scan_vectors_total", &[], "Vectors that scans have compared."),
    gauge("raft_applied_index", &["group"], "Last log entry that the group's replica here has applied."),
    Metric {
        name: "raft_append_batch_entries",
        kind: Kind::Histogram(TEXTS),
        labels: &[],
        help: "Appends of all groups that one fsync made durable together.",
    },
    seconds("raft_fsync_seconds", &[], "Time of one fsync of the node's write-ahead log."),
    seconds(
        "query_stage_seconds",
        &["stage"],
        "Time of one stage of a query: embed and cluster on the client, fan_out on the coordinator.",
    ),
    counter("query_partial_total", &[], "Answers that lacked a group."),
    seconds(
        "rpc_seconds",
        &["route"],
        "Time of one request on the server, from its first byte to its reply.",
    ),
    counter("rpc_errors_total", &["route", "code"], "Requests that were answered with an error."),
    gauge("rpc_inflight", &[], "Requests that run on this server."),
];

/// Tells the recorder of this process what each metric means. Call it after the recorder is installed.
pub fn describe() {
    for metric in CATALOGUE {
        match metric.kind {
            Kind::Counter => metrics::describe_counter!(metric.name, metric.help),
            Kind::Gauge => metrics::describe_gauge!(metric.name, metric.help),
            Kind::Histogram(_) => metrics::describe_histogram!(metric.name, metric.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_documented_and_end_in_their_unit() {
        let mut seen = BTreeSet::new();
        for Metric { name, kind, labels, help } in CATALOGUE {
            assert!(seen.insert(*name), "{name} is there twice");
            let words: Vec<_> = name.split('_').collect();
            let plain = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
            assert!(words.len() >= 2 && words.iter().all(plain), "{name} is no snake_case name");
            assert!(help.len() > 10 && help.ends_with('.'), "{name} has no sentence");
            assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}: counters end in _total");
            assert_eq!(*kind == Kind::Histogram(SECONDS), name.ends_with("_seconds"), "{name}: unit");
            assert_eq!(labels.len(), labels.iter().collect::<BTreeSet<_>>().len(), "{name}: labels");
            if let Kind::Histogram(buckets) = kind {
                assert!(buckets.is_sorted_by(|a, b| a < b), "{name}: buckets");
            }
        }
    }
}
