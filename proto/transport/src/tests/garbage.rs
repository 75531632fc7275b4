//! Datagrams of strangers: no panic, no growth, and the members are served as before.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use sextant_proto::access::Role;

use super::{ANY, Kind, LONG, Site, act, ask, endpoint, routes, until, within};
use crate::{ClientOptions, ServerOptions, tls};

/// Marsaglia's xorshift64: the same junk at every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// A first packet of QUIC: long header, version, connection ids, token, length, noise.
fn initial(random: &mut Random, version: u32, dcid: usize, token: usize, body: usize) -> Vec<u8> {
    let mut packet = vec![0xC0 | random.below(16) as u8];
    packet.extend(version.to_be_bytes());
    packet.push(dcid as u8);
    packet.extend(random.bytes(dcid));
    packet.push(8);
    packet.extend(random.bytes(8));
    packet.push(token as u8);
    packet.extend(random.bytes(token));
    packet.extend((0x4000 | body.min(16_383) as u16).to_be_bytes());
    packet.extend(random.bytes(body));
    packet
}

fn junk(random: &mut Random) -> Vec<u8> {
    let version = random.next() as u32;
    let dcid = random.below(256);
    match random.below(9) {
        0 => {
            let len = random.below(1500);
            random.bytes(len)
        }
        1 => initial(random, 1, 8, 0, 1180),
        2 => initial(random, 0, 8, 0, 40),
        3 => initial(random, version, 8, 0, 1180),
        4 => initial(random, 1, dcid, 0, 1180),
        5 => initial(random, 1, 8, 0, 3),
        6 => initial(random, 1, 8, 63, 900),
        7 => {
            let len = 1 + random.below(60);
            let mut packet = vec![0x40 | random.below(64) as u8];
            packet.extend(random.bytes(len));
            packet
        }
        _ => {
            let mut packet = initial(random, 1, 8, 0, 1180);
            packet.truncate(1 + random.below(29));
            packet
        }
    }
}

/// Resident memory of this process, bytes (Linux: second field of statm, pages of 4 KiB).
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_changes_nothing_for_members() {
    let site = Site::new(Kind::Quic);
    let server = site.server(routes().0, ServerOptions::default());
    let to = endpoint(&server);
    let client = site.client(Role::Shard, ClientOptions::default());
    client.call(&to, &ask(act::ECHO, b"before"), LONG).await.unwrap();
    let before = resident_bytes();
    let sender = std::thread::spawn(move || {
        let sockets: Vec<_> = (0..16).map(|_| UdpSocket::bind(ANY).unwrap()).collect();
        let mut random = Random(0x5EED);
        let end = Instant::now() + Duration::from_secs(2);
        let mut sent = 0u32;
        while Instant::now() < end {
            let packet = junk(&mut random);
            sent += u32::from(sockets[random.below(16)].send_to(&packet, to.addr).is_ok());
        }
        sent
    });
    let mut served = 0u32;
    while !sender.is_finished() {
        let reply = client.call(&to, &ask(act::ECHO, &served.to_le_bytes()), LONG).await.unwrap();
        assert_eq!(reply.body, served.to_le_bytes());
        served += 1;
    }
    // A member that comes during or after the storm gets in.
    let late = site.client(Role::Shard, ClientOptions::default());
    late.call(&to, &ask(act::ECHO, b"after"), LONG).await.unwrap();
    let sent = sender.join().unwrap();
    assert!(sent > 1000 && served > 10, "{sent} datagrams, {served} calls");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "grown by {grown} bytes under {sent} datagrams");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_that_never_finish_are_dropped() {
    let site = Site::new(Kind::Quic);
    let handshake_timeout = Duration::from_millis(500);
    let server = site.server(routes().0, ServerOptions { handshake_timeout, ..ServerOptions::default() });
    let server_addr = server.local_addr();
    // Dials go to a relay that passes each one's first datagram on, and nothing after it.
    let relay = UdpSocket::bind(ANY).unwrap();
    let relay_addr = relay.local_addr().unwrap();
    relay.set_read_timeout(Some(LONG)).unwrap();
    let passing = std::thread::spawn(move || {
        let mut known = std::collections::BTreeSet::new();
        let mut datagram = [0; 2048];
        while known.len() < 20 {
            let (len, from) = relay.recv_from(&mut datagram).unwrap();
            if from != server_addr && known.insert(from) {
                relay.send_to(&datagram[..len], server_addr).unwrap();
            }
        }
        relay
    });
    let transport = tls::transport(LONG, 0, None).unwrap();
    let config = tls::client(&site.identity(Role::Shard), b"sextant/1", transport).unwrap();
    let dials: Vec<_> = (0..20)
        .map(|_| {
            let endpoint = quinn::Endpoint::client(ANY).unwrap();
            let connecting = endpoint.connect_with(config.clone(), relay_addr, "sextant").unwrap();
            (endpoint, connecting)
        })
        .collect();
    until("half-open connections", || server.open_connections() >= Some(1)).await;
    let _relay = within("the relay", tokio::task::spawn_blocking(|| passing.join())).await.unwrap().unwrap();
    until("their end", || server.open_connections() == Some(0)).await;
    drop(dials);
}
