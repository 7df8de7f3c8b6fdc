//! The two ends of the line to a client, and which events are on it: an event is gone only once the client has it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use shopfloor_core::env::Env;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::commands::wait::Wanted;
use crate::event::Event;
use crate::spool::{Claim, Spool};

/// How long an answer may take to be written.
pub const STALE: Duration = Duration::from_secs(5);

/// A client that got its answer so fast has not given up on it.
pub const PROMPT: Duration = Duration::from_secs(1);

/// How long an event that was handed over is nobody else's, unless it is acknowledged before.
const LEASE: Duration = Duration::from_secs(300);

/// Something that happens once, and what is to be done then.
#[derive(Clone, Default)]
pub struct Over {
    state: Arc<Mutex<(bool, Vec<Work>)>>,
}

type Work = Box<dyn FnOnce() + Send>;

impl Over {
    pub fn then(&self, work: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.0 {
            true => work(),
            false => state.1.push(Box::new(work)),
        }
    }

    pub fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        state.1.drain(..).for_each(|work| work());
    }

    pub fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// stdin, which notices its end: nobody waits for an event on behalf of a client that has gone.
pub struct Reader<R> {
    pub inner: R,
    pub over: Over,
}

impl<R: AsyncRead + Unpin> AsyncRead for Reader<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(context, buffer);
        if matches!(&read, Poll::Ready(done) if done.is_err() || buffer.filled().len() == before) {
            this.over.end();
        }
        read
    }
}

/// How long after that it is still known, should it be acknowledged late.
const KNOWN: Duration = Duration::from_secs(24 * 60 * 60);

/// Events in answers that are on their way to the client, or were written and may not have arrived.
#[derive(Clone)]
pub struct Handed {
    env: Env,
    waiting: Arc<Mutex<Vec<Answer>>>,
    written: Arc<Mutex<Vec<Answer>>>,
    out: Arc<Mutex<Vec<Out>>>,
}

/// An event in an answer.
struct Answer {
    since: Instant,
    claim: Claim,
    is_prompt: bool,
}

/// An event that was written out, lent until its lease runs out.
struct Out {
    event: Event,
    spool: Spool,
    until: Instant,
    /// It counts as taken with the next call.
    is_settled: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handed {
    pub fn new(env: &Env) -> Handed {
        Handed { env: env.clone(), waiting: Arc::default(), written: Arc::default(), out: Arc::default() }
    }

    /// It is in an answer that is about to be written; `is_prompt` where its request has just come.
    pub fn wait(&self, claim: Claim, is_prompt: bool) {
        lock(&self.waiting).push(Answer { since: Instant::now(), claim, is_prompt });
    }

    /// What should long have been written never will be: its request was cancelled at the last moment.
    pub fn give_back_stale(&self) {
        for answer in lock(&self.waiting).extract_if(.., |answer| answer.since.elapsed() > STALE) {
            let _ = answer.claim.give_back();
        }
    }

    /// The client calls again: what was settled is taken, and what it acknowledges by its number.
    pub fn next_call(&self, after: Option<u64>) {
        // What was written may not be known to be flushed; the client has it.
        self.flushed();
        let mut out = lock(&self.out);
        for taken in out.extract_if(.., |out| out.is_settled || after == Some(out.event.id())) {
            // What cannot be acknowledged is delivered again.
            let _ = taken.spool.acknowledge(&[taken.event.uid().to_owned()]);
        }
        // Others may have it by now; it can be acknowledged all the same, for a task may take its time.
        out.retain(|out| out.until + KNOWN > Instant::now());
    }

    /// The first event that the client may have missed: once more, and then no more.
    pub fn redeliver(&self, wanted: &Wanted) -> Option<Event> {
        let mut out = lock(&self.out);
        let missed =
            out.iter_mut().find(|out| !out.is_settled && out.until > Instant::now() && wanted.takes(&out.event))?;
        missed.is_settled = true;
        Some(missed.event.clone())
    }

    /// This line was written: the events in it only have to be flushed.
    fn wrote(&self, line: &[u8]) {
        let mut waiting = lock(&self.waiting);
        let holds = |answer: &Answer| {
            let uid = answer.claim.event.uid().as_bytes();
            line.windows(uid.len()).any(|window| window == uid)
        };
        lock(&self.written).extend(waiting.extract_if(.., |answer| holds(answer)));
    }

    /// All that was written is out.
    fn flushed(&self) {
        // Held throughout: the client may call again while this is under way.
        let mut out = lock(&self.out);
        let written = std::mem::take(&mut *lock(&self.written));
        for Answer { claim, is_prompt, .. } in written {
            let (event, spool) = (claim.event.clone(), claim.spool().clone());
            let lease = SignedDuration::try_from(LEASE).unwrap_or_default();
            // What cannot be lent is delivered again.
            if claim.lend(self.env.later().now + lease).is_ok() {
                out.push(Out { event, spool, until: Instant::now() + LEASE, is_settled: is_prompt });
            }
        }
    }
}

/// stdout, which notices when an event has gone out.
pub struct Writer<W> {
    pub inner: W,
    pub line: Vec<u8>,
    pub handed: Handed,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Writer<W> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(n)) = &written {
            for piece in bytes[..*n].split_inclusive(|b| *b == b'\n') {
                this.line.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    this.handed.wrote(&this.line);
                    this.line.clear();
                }
            }
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            this.handed.flushed();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
