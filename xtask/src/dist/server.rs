//! A server on loopback with the files of a release, and nothing else.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result};

/// What is served: the path of each file, and its content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A file below this directory breaks off in the middle.
pub const CUT: &str = "/cut/";

/// Serves these files until the process ends. `files` gets the address, as some files contain it. Returns the address.
pub fn serve(files: impl FnOnce(&str) -> Result<Files>) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on loopback")?;
    let url = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
    let files = Arc::new(files(&url)?);
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let files = files.clone();
            // A connection that breaks is the client's to report.
            std::thread::spawn(move || drop(answer(stream, &files)));
        }
    });
    Ok(url)
}

fn answer(mut stream: TcpStream, files: &Files) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().context("no request")??;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default().replace("%2f", "/").replace("%2F", "/");
    let (status, body) = match files.get(&path) {
        Some(body) => ("200 OK", &body[..]),
        None => ("404 Not Found", &b"{}"[..]),
    };
    let kind = if body.starts_with(b"{") { "application/json" } else { "application/octet-stream" };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    let sent = if path.starts_with(CUT) && path.ends_with(".xz") { length / 2 } else { length };
    Ok(stream.write_all(&body[..sent])?)
}
