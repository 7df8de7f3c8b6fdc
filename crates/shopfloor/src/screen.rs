//! The terminal of the desk, and a frame as text. Whatever ends the desk leaves the terminal as it was.

use std::io::{self, Write};
use std::thread;
use std::{mem, panic};

use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::style::{
    Attribute, Color as TermColor, Print, SetAttribute, SetBackgroundColor, SetForegroundColor, force_color_output,
};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier};
use ratatui_core::text::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::stdio::dup2_stdin;

/// Waits for a person for a while. A signal, as that of another size, ends it early.
pub fn wait(within: Timespec) {
    let _ = poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&within));
}

/// Waits until the terminal is gone. Then stdin is a pipe into which nobody writes, because crossterm reads the end of a
/// terminal again and again.
pub fn wait_for_end() -> io::Result<()> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
    while !polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        let _ = poll(&mut polled, None);
    }
    let (read, write) = io::pipe()?;
    fcntl_setfl(&read, OFlags::NONBLOCK)?;
    dup2_stdin(&read)?;
    // Else its end would be read.
    mem::forget(write);
    Ok(())
}

/// Puts the terminal back as it was.
fn restore() {
    let (mouse, reset) = (DisableMouseCapture, SetAttribute(Attribute::Reset));
    let _ = execute!(io::stdout(), reset, DisableBracketedPaste, mouse, LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

/// The terminal while the desk has it.
pub struct Screen {
    drawn: Buffer,
    has_colors: bool,
}

impl Screen {
    pub fn enter(has_colors: bool) -> io::Result<Screen> {
        // What a panic says would go onto the screen that is left.
        let report = panic::take_hook();
        let drawing = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == drawing {
                restore();
            }
            report(info);
        }));
        let mut screen = Screen { drawn: Buffer::empty(Rect::ZERO), has_colors };
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        self.drawn = Buffer::empty(Rect::ZERO);
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide)
    }

    /// Gives the terminal to another program.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let done = work();
        self.take().map(|()| done)
    }

    /// Draws what differs from what was drawn before.
    pub fn draw(&mut self, frame: Buffer, cursor: Option<Position>) -> io::Result<()> {
        let mut out = io::BufWriter::new(io::stdout());
        queue!(out, cursor::Hide)?;
        if frame.area != self.drawn.area {
            queue!(out, SetAttribute(Attribute::Reset), Clear(ClearType::All))?;
            self.drawn = Buffer::empty(frame.area);
        }
        for (x, y, cell) in self.drawn.diff(&frame) {
            queue!(out, cursor::MoveTo(x, y))?;
            put(&mut out, cell, self.has_colors)?;
        }
        if let Some(Position { x, y }) = cursor {
            queue!(out, cursor::MoveTo(x, y), cursor::Show)?;
        }
        self.drawn = frame;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Writes a cell as it is shown.
fn put(out: &mut impl Write, cell: &Cell, has_colors: bool) -> io::Result<()> {
    const ATTRIBUTES: [(Modifier, Attribute); 6] = [
        (Modifier::BOLD, Attribute::Bold),
        (Modifier::DIM, Attribute::Dim),
        (Modifier::ITALIC, Attribute::Italic),
        (Modifier::UNDERLINED, Attribute::Underlined),
        (Modifier::REVERSED, Attribute::Reverse),
        (Modifier::CROSSED_OUT, Attribute::CrossedOut),
    ];
    queue!(out, SetAttribute(Attribute::Reset))?;
    for (_, attribute) in ATTRIBUTES.iter().filter(|(modifier, _)| cell.modifier.contains(*modifier)) {
        queue!(out, SetAttribute(*attribute))?;
    }
    if has_colors {
        // That is decided by now, and `NO_COLOR` would have each colour written as an end of all attributes.
        force_color_output(true);
        queue!(out, SetForegroundColor(color(cell.fg)), SetBackgroundColor(color(cell.bg)))?;
    }
    queue!(out, Print(cell.symbol()))
}

/// Ours and those of agents' terminals are numbers or parts of red, green and blue.
fn color(color: Color) -> TermColor {
    match color {
        Color::Rgb(r, g, b) => TermColor::Rgb { r, g, b },
        Color::Indexed(index) => TermColor::AnsiValue(index),
        _ => TermColor::Reset,
    }
}

/// The rows of a frame as text, with escape sequences for colours on request.
pub fn text(frame: &Buffer, has_colors: bool) -> Vec<String> {
    let row = |y: u16| {
        let (mut row, mut x) = (Vec::new(), 0);
        while x < frame.area.width {
            let cell = &frame[(x, y)];
            let _ = if has_colors { put(&mut row, cell, true) } else { row.write_all(cell.symbol().as_bytes()) };
            // A wide letter hides the cell behind it.
            x += u16::try_from(Span::raw(cell.symbol()).width()).unwrap_or(1).max(1);
        }
        let row = String::from_utf8_lossy(&row);
        if has_colors { format!("{row}\u{1b}[0m") } else { row.trim_end().to_owned() }
    };
    (0..frame.area.height).map(row).collect()
}
