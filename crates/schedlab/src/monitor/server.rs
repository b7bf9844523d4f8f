//! The server of `--metrics-listen`: one page, one thread, many clients.
//!
//! Clients may be hostile, so threads, connections, memory and time are bounded. hyper, which
//! buckets require anyway, bounds a request's bytes and time; tiny_http (0.12, 2022) would bound
//! neither threads nor time. Beyond the limit the oldest connection is closed, so no client can
//! keep others out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use machine::confine::Landlock;
use report::running::Running;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::out;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The smallest buffer that hyper allows.
const REQUEST_BYTES: usize = 8192;
const HEADERS: usize = 64;

/// After a failed accept, e.g. when descriptors run out.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Bounds {
    connections: usize,
    /// From connection to the end of the request head.
    request: Duration,
    /// From connection to the end of the response.
    whole: Duration,
}

const BOUNDS: Bounds =
    Bounds { connections: 256, request: Duration::from_secs(1), whole: Duration::from_secs(10) };

#[allow(clippy::unnecessary_wraps, reason = "a build without the server refuses")]
pub(super) fn check() -> Result<()> {
    Ok(())
}

pub(super) fn serve(listener: TcpListener, running: Arc<Mutex<Running>>) {
    let confined = machine::confine::drop_capabilities()
        .and_then(|()| Landlock::read_all_write_only::<&str>(&[])?.restrict());
    if let Err(error) = confined {
        return out::note(format_args!(
            "--metrics-listen: not served, for the rights of root cannot be given up: {error}"
        ));
    }
    if let Err(error) = run(listener, running, BOUNDS) {
        out::note(format_args!("--metrics-listen: not served: {error}"));
    }
}

fn run(listener: TcpListener, running: Arc<Mutex<Running>>, bounds: Bounds) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
        loop {
            let Ok((client, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            open.retain(|connection| !connection.is_finished());
            if open.len() >= bounds.connections
                && let Some(oldest) = open.pop_front()
            {
                oldest.abort();
            }
            open.push_back(tokio::spawn(answer(client, Arc::clone(&running), bounds)));
        }
    })
}

async fn answer(client: TcpStream, running: Arc<Mutex<Running>>, bounds: Bounds) {
    let page = service_fn(|request: Request<_>| {
        let response = respond(&request, &running);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.request)
        .max_buf_size(REQUEST_BYTES)
        .max_headers(HEADERS)
        .keep_alive(false)
        .half_close(true)
        .serve_connection(TokioIo::new(client), page);
    // A client's disconnect or timeout is not our error.
    drop(timeout(bounds.whole, connection).await);
}

fn respond<B>(request: &Request<B>, running: &Mutex<Running>) -> Response<Full<Bytes>> {
    let response = Response::builder().header(X_CONTENT_TYPE_OPTIONS, "nosniff");
    let response = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            let text = running.lock().unwrap_or_else(PoisonError::into_inner).openmetrics();
            response.header(CONTENT_TYPE, OPENMETRICS).body(text.into())
        }
        (&Method::GET, _) => response
            .status(StatusCode::NOT_FOUND)
            .header(CONTENT_TYPE, PLAIN)
            .body("see /metrics\n".into()),
        _ => {
            let response = response.status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET");
            response.header(CONTENT_TYPE, PLAIN).body("expected GET /metrics\n".into())
        }
    };
    response.expect("names and values of these headers are valid")
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::SocketAddr;

    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);
    /// Reached only by a failing test.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn served(bounds: Bounds) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || run(listener, Arc::default(), bounds));
        at
    }

    fn connected(at: SocketAddr) -> std::net::TcpStream {
        let client = std::net::TcpStream::connect(at).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
    }

    fn asked(at: SocketAddr, request: &[u8]) -> String {
        let mut client = connected(at);
        client.write_all(request).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).expect("an answer");
        text
    }

    fn is_closed(client: &mut std::net::TcpStream) -> bool {
        client.set_nonblocking(true).unwrap();
        let read = client.read(&mut [0]);
        client.set_nonblocking(false).unwrap();
        !read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn only_get_of_the_page_is_answered_with_it() {
        let at = served(BOUNDS);
        for (request, status) in [
            (&b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"[..], "200"),
            (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200"),
            (b"GET / HTTP/1.1\r\n\r\n", "404"),
            (b"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405"),
            (b"\xff\xfe\r\n\r\n", "400"),
            (b"GET  /metrics HTTP/1.1\r\n\r\n", "400"),
        ] {
            let text = asked(at, request);
            assert_eq!(text.split(' ').nth(1), Some(status), "{request:?}: {text}");
            assert_eq!(text.ends_with("# EOF\n"), status == "200", "{text}");
        }
    }

    #[test]
    fn a_reader_is_answered_while_200_silent_clients_wait() {
        for silent in [40, 200] {
            let at = served(Bounds { request: NEVER, whole: NEVER, ..BOUNDS });
            let mut silent: Vec<_> = (0..silent).map(|_| connected(at)).collect();
            assert!(asked(at, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("# EOF\n"));
            assert!(
                !silent.iter_mut().any(is_closed),
                "all of them are open when the reader has its answer"
            );
        }
    }

    #[test]
    fn a_client_beyond_the_bound_takes_the_place_of_the_oldest() {
        let at = served(Bounds { connections: 4, request: NEVER, whole: NEVER });
        let mut silent: Vec<_> = (0..40).map(|_| connected(at)).collect();
        assert!(asked(at, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("# EOF\n"));
        let closed: Vec<bool> = silent.iter_mut().map(is_closed).collect();
        assert_eq!(closed, (0..40).map(|number| number < 37).collect::<Vec<_>>());
    }

    #[test]
    fn a_silent_an_endless_and_a_slow_client_are_closed() {
        let at = served(BOUNDS);
        let mut silent = connected(at);
        assert_eq!(silent.read(&mut [0]).expect("the end"), 0);
        let mut endless = connected(at);
        drop(endless.write_all(&[b'x'; 3 * REQUEST_BYTES]));
        let mut answer = Vec::new();
        let end = endless.read_to_end(&mut answer);
        assert!(!end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "it is closed");
        let mut slow = connected(at);
        while slow.write_all(b"x").is_ok() && !is_closed(&mut slow) {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(asked(at, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("# EOF\n"));
    }
}
