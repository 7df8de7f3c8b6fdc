//! The streams to and from a client, and the events on the way: an event is acknowledged only once the client has it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use shopfloor_core::env::Env;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::apply::wait::EventFilter;
use crate::event::SpoolEvent;
use crate::spool::{Claim, Spool};

/// How long an answer may take to be written.
pub const STALE: Duration = Duration::from_secs(5);

/// A client that gets its answer within this time has not given up on it.
pub const PROMPT: Duration = Duration::from_secs(1);

/// The lease on a delivered event.
const LEASE: Duration = Duration::from_secs(300);

/// Something that happens once, and the callbacks to be called then.
#[derive(Clone, Default)]
pub struct Once {
    state: Arc<Mutex<(bool, Vec<Callback>)>>,
}

type Callback = Box<dyn FnOnce() + Send>;

impl Once {
    /// Calls back when it happens, or now if it has happened.
    pub fn then(&self, callback: impl FnOnce() + Send + 'static) {
        let mut state = lock(&self.state);
        match state.0 {
            true => callback(),
            false => state.1.push(Box::new(callback)),
        }
    }

    pub fn end(&self) {
        let mut state = lock(&self.state);
        state.0 = true;
        state.1.drain(..).for_each(|callback| callback());
    }

    pub fn is_over(&self) -> bool {
        lock(&self.state).0
    }
}

/// stdin, which notices its end, so that no wait goes on for a client that has disconnected.
pub struct WatchedStdin<R> {
    pub inner: R,
    pub ended: Once,
}

impl<R: AsyncRead + Unpin> AsyncRead for WatchedStdin<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(context, buffer);
        if matches!(&read, Poll::Ready(done) if done.is_err() || buffer.filled().len() == before) {
            this.ended.end();
        }
        read
    }
}

/// How long after its lease an event is remembered, in case it is acknowledged late.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);

/// Events in answers that are on their way to the client, or were written and may not have arrived.
#[derive(Clone)]
pub struct HandedEvents {
    env: Env,
    waiting: Arc<Mutex<Vec<PendingEvent>>>,
    written: Arc<Mutex<Vec<PendingEvent>>>,
    out: Arc<Mutex<Vec<LeasedEvent>>>,
}

/// How soon after its request an event is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySpeed {
    Prompt,
    Late,
}

/// An event in an answer that is not written yet.
struct PendingEvent {
    since: Instant,
    claim: Claim,
    delivery: DeliverySpeed,
}

/// An event that was written to the client, under a lease.
struct LeasedEvent {
    event: SpoolEvent,
    spool: Spool,
    until: Instant,
    /// Whether it counts as taken with the next call.
    is_settled: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HandedEvents {
    pub fn new(env: &Env) -> HandedEvents {
        HandedEvents { env: env.clone(), waiting: Arc::default(), written: Arc::default(), out: Arc::default() }
    }

    /// Adds an event whose answer is about to be written.
    pub fn add(&self, claim: Claim, delivery: DeliverySpeed) {
        lock(&self.waiting).push(PendingEvent { since: Instant::now(), claim, delivery });
    }

    /// Gives back events that should have been written long ago: their requests were cancelled at the last moment.
    pub fn give_back_stale(&self) {
        for answer in lock(&self.waiting).extract_if(.., |answer| answer.since.elapsed() > STALE) {
            let _ = answer.claim.give_back();
        }
    }

    /// The client calls again, so it has taken the settled events and the one whose number it names.
    pub fn next_call(&self, after: Option<u64>) {
        // A written answer may not count as flushed yet, but the client has it.
        self.flushed();
        let mut out = lock(&self.out);
        for taken in out.extract_if(.., |out| out.is_settled || after == Some(out.event.id())) {
            // An event that cannot be acknowledged is delivered again.
            let _ = taken.spool.acknowledge(&[taken.event.uid().to_owned()]);
        }
        // An expired event is still remembered, because the client may acknowledge it late.
        out.retain(|out| out.until + MEMORY > Instant::now());
    }

    /// The first event that the client may have missed. It is delivered once more only.
    pub fn redeliver(&self, filter: &EventFilter) -> Option<SpoolEvent> {
        let mut out = lock(&self.out);
        let missed =
            out.iter_mut().find(|out| !out.is_settled && out.until > Instant::now() && filter.matches(&out.event))?;
        missed.is_settled = true;
        Some(missed.event.clone())
    }

    /// Notes that a line was written: the events in it only have to be flushed.
    fn wrote(&self, line: &[u8]) {
        let mut waiting = lock(&self.waiting);
        let holds = |answer: &PendingEvent| {
            let uid = answer.claim.event.uid().as_bytes();
            line.windows(uid.len()).any(|window| window == uid)
        };
        lock(&self.written).extend(waiting.extract_if(.., |answer| holds(answer)));
    }

    /// Notes that everything written was flushed.
    fn flushed(&self) {
        // Locked throughout, because the client may call again meanwhile.
        let mut out = lock(&self.out);
        let written = std::mem::take(&mut *lock(&self.written));
        for PendingEvent { claim, delivery, .. } in written {
            let (event, spool) = (claim.event.clone(), claim.spool().clone());
            let lease = SignedDuration::try_from(LEASE).unwrap_or_default();
            // An event that cannot be leased is delivered again.
            if claim.lend(self.env.later().now + lease).is_ok() {
                let is_settled = delivery == DeliverySpeed::Prompt;
                out.push(LeasedEvent { event, spool, until: Instant::now() + LEASE, is_settled });
            }
        }
    }
}

/// stdout, which notices when an event was written.
pub struct WatchedStdout<W> {
    pub inner: W,
    pub line: Vec<u8>,
    pub handed: HandedEvents,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for WatchedStdout<W> {
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
