//! Signals and the exporter act on a whole process, so they have a test binary of their own, and one test at a time.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sextant_daemon::run::End;
use sextant_daemon::{DaemonError, run, serve_metrics};

const LONG: Duration = Duration::from_secs(20);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn send(signal: &str) {
    let me = std::process::id().to_string();
    assert!(Command::new("kill").args([signal, &me]).status().unwrap().success());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn life(signals: [&'static str; 2], stop_ends: bool) -> End {
    let bind = async {
        // The handlers are in place before `bind` is polled, so the signal cannot end the process.
        send(signals[0]);
        Ok::<_, DaemonError>("service")
    };
    let stop = |service, drain| async move {
        assert_eq!((service, drain), ("service", LONG));
        if !stop_ends {
            send(signals[1]);
            std::future::pending::<()>().await;
        }
    };
    tokio::time::timeout(LONG, run(bind, LONG, stop)).await.unwrap().unwrap()
}

#[test]
fn a_signal_drains_and_a_second_one_ends_the_drain() {
    let _one = ONE_AT_A_TIME.lock().unwrap();
    for signals in [["-TERM", "-INT"], ["-INT", "-TERM"]] {
        assert_eq!(runtime().block_on(life(signals, true)), End::Drained);
        assert_eq!(runtime().block_on(life(signals, false)), End::CutShort);
    }
}

#[test]
fn a_signal_while_binding_ends_the_process_and_an_error_is_handed_on() {
    let _one = ONE_AT_A_TIME.lock().unwrap();
    let never = async {
        send("-TERM");
        std::future::pending::<Result<(), DaemonError>>().await
    };
    let end = runtime().block_on(async { run(never, LONG, |(), _| async {}).await });
    assert_eq!(end.unwrap(), End::BeforeServing);
    let failing = async { Err::<(), _>(DaemonError::Twice("the test")) };
    assert!(runtime().block_on(async { run(failing, LONG, |(), _| async {}).await }).is_err());
}

fn get(addr: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(addr)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

#[test]
fn the_exporter_shows_described_metrics_in_their_buckets() {
    let _one = ONE_AT_A_TIME.lock().unwrap();
    let runtime = runtime();
    let _inside = runtime.enter();
    serve_metrics(None).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let error = serve_metrics(Some(addr)).unwrap_err().to_string();
    assert!(error.contains(&addr.to_string()), "{error}");
    drop(taken);
    serve_metrics(Some(addr)).unwrap();
    metrics::histogram!("scan_seconds").record(0.02);
    metrics::counter!("rpc_errors_total", "route" => "Search", "code" => "behind").increment(3);
    let start = Instant::now();
    let page = loop {
        match get(addr) {
            Ok(page) if page.contains("rpc_errors_total") => break page,
            _ if start.elapsed() < LONG => std::thread::yield_now(),
            other => panic!("no page: {other:?}"),
        }
    };
    assert!(page.contains(r#"rpc_errors_total{route="Search",code="behind"} 3"#), "{page}");
    assert!(page.contains(r#"scan_seconds_bucket{le="0.03"} 1"#), "{page}");
    assert!(page.contains("# HELP scan_seconds"), "{page}");
}
