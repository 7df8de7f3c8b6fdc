//! The terminal of the desk: its keys, and what is drawn on it. Whatever ends the desk leaves it as it was.

use std::io::{self, Write};
use std::panic;

use crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, KeyCode, KeyEventKind,
    KeyModifiers, MouseButton, MouseEventKind,
};
use crossterm::style::{Attribute, Color as TermColor, Print, SetAttribute, SetBackgroundColor, SetForegroundColor};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier};
use ratatui_core::text::Span;

/// What a person does at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    /// A text, at one go.
    Paste(String),
    /// A click into this column and row.
    Click(u16, u16),
    /// A turn of the wheel in this row, up or down.
    Wheel(u16, bool),
    Resize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
}

/// Waits for a person for a short while. Fails when the terminal is gone.
pub fn read(within: std::time::Duration) -> io::Result<Option<Input>> {
    if !event::poll(within)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => named(key.code, key.modifiers).map(Input::Key),
        event::Event::Paste(text) => Some(Input::Paste(text)),
        event::Event::Resize(..) => Some(Input::Resize),
        event::Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Input::Click(mouse.column, mouse.row)),
            MouseEventKind::ScrollUp => Some(Input::Wheel(mouse.row, true)),
            MouseEventKind::ScrollDown => Some(Input::Wheel(mouse.row, false)),
            _ => None,
        },
        _ => None,
    })
}

fn named(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    Some(match code {
        KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => Key::Ctrl(c),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

/// Puts the terminal back as it was.
fn restore() {
    let _ = execute!(
        io::stdout(),
        SetAttribute(Attribute::Reset),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
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
        panic::set_hook(Box::new(move |info| {
            restore();
            report(info);
        }));
        let mut screen = Screen { drawn: Buffer::empty(Rect::ZERO), has_colors };
        screen.resume()?;
        Ok(screen)
    }

    /// Takes the terminal again.
    pub fn resume(&mut self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, cursor::Hide)?;
        self.drawn = Buffer::empty(Rect::ZERO);
        Ok(())
    }

    /// Gives it to another program.
    pub fn suspend(&mut self) {
        restore();
    }

    /// Its columns and rows.
    pub fn size(&self) -> (u16, u16) {
        terminal::size().unwrap_or((80, 24))
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
            queue!(out, cursor::MoveTo(x, y), SetAttribute(Attribute::Reset))?;
            for (modifier, attribute) in ATTRIBUTES {
                if cell.modifier.contains(modifier) {
                    queue!(out, SetAttribute(attribute))?;
                }
            }
            if self.has_colors {
                queue!(out, SetForegroundColor(color(cell.fg)), SetBackgroundColor(color(cell.bg)))?;
            }
            queue!(out, Print(cell.symbol()))?;
        }
        queue!(out, SetAttribute(Attribute::Reset))?;
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

const ATTRIBUTES: [(Modifier, Attribute); 6] = [
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::DIM, Attribute::Dim),
    (Modifier::ITALIC, Attribute::Italic),
    (Modifier::UNDERLINED, Attribute::Underlined),
    (Modifier::REVERSED, Attribute::Reverse),
    (Modifier::CROSSED_OUT, Attribute::CrossedOut),
];

fn color(color: Color) -> TermColor {
    match color {
        Color::Reset => TermColor::Reset,
        Color::Black => TermColor::Black,
        Color::Red => TermColor::DarkRed,
        Color::Green => TermColor::DarkGreen,
        Color::Yellow => TermColor::DarkYellow,
        Color::Blue => TermColor::DarkBlue,
        Color::Magenta => TermColor::DarkMagenta,
        Color::Cyan => TermColor::DarkCyan,
        Color::Gray => TermColor::Grey,
        Color::DarkGray => TermColor::DarkGrey,
        Color::LightRed => TermColor::Red,
        Color::LightGreen => TermColor::Green,
        Color::LightYellow => TermColor::Yellow,
        Color::LightBlue => TermColor::Blue,
        Color::LightMagenta => TermColor::Magenta,
        Color::LightCyan => TermColor::Cyan,
        Color::White => TermColor::White,
        Color::Rgb(r, g, b) => TermColor::Rgb { r, g, b },
        Color::Indexed(index) => TermColor::AnsiValue(index),
    }
}

/// The rows of a frame as text, with colours as escape sequences on request.
pub fn text(frame: &Buffer, has_colors: bool) -> Vec<String> {
    let width = frame.area.width;
    let row = |y: u16| {
        let (mut row, mut x, mut style) = (String::new(), 0, String::new());
        while x < width {
            let cell = &frame[(x, y)];
            let now = if has_colors { sequence(cell.fg, cell.bg, cell.modifier) } else { String::new() };
            if now != style {
                row += &now;
                style = now;
            }
            row += cell.symbol();
            x += u16::try_from(Span::raw(cell.symbol()).width()).unwrap_or(1).max(1);
        }
        let end = if has_colors { "\u{1b}[0m" } else { "" };
        if has_colors { row + end } else { row.trim_end().to_owned() }
    };
    (0..frame.area.height).map(row).collect()
}

fn sequence(fg: Color, bg: Color, modifier: Modifier) -> String {
    let mut bytes = Vec::new();
    let _ = queue!(bytes, SetAttribute(Attribute::Reset));
    for (_, attribute) in ATTRIBUTES.iter().filter(|(has, _)| modifier.contains(*has)) {
        let _ = queue!(bytes, SetAttribute(*attribute));
    }
    let _ = queue!(bytes, SetForegroundColor(color(fg)), SetBackgroundColor(color(bg)));
    String::from_utf8_lossy(&bytes).into_owned()
}
