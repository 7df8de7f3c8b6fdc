//! The desk as a grid of cells, a pure function of its values and of the size of the terminal.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Span;
use shopfloor_core::board::{Need, Standing, age, cut};
use shopfloor_core::diff::{DiffLine, LineKind};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::time::local_clock;

use super::keys::KEYS;
use super::list::{ListLine, lines, side, state, what};
use super::{Desk, DiffRow, Mode, key};
use crate::facts::desk_feed::{Content, PageKind, Review};
use crate::plan::rows::Row;

/// Below this height there is only the list, and below this width only marks, names, ages and words.
pub const LOW: u16 = 12;
const NARROW: usize = 60;

const RED: Color = Color::Indexed(1);
const GREEN: Color = Color::Indexed(2);
pub(super) const YELLOW: Color = Color::Indexed(3);
const MAGENTA: Color = Color::Indexed(5);
const CYAN: Color = Color::Indexed(6);

/// The width of a column of the help.
const COLUMN: usize = 40;
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Where the list is on the screen, and where the page: rows, from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    pub list: (u16, u16),
    pub page: (u16, u16),
    /// The first line of the list that is shown.
    pub first: usize,
}

/// Where everything is.
pub fn places(desk: &Desk, height: u16) -> Places {
    let all = lines(desk);
    let count = u16::try_from(all.len()).unwrap_or(u16::MAX);
    let inner = height.saturating_sub(2);
    let has_page = desk.has_preview && height >= LOW;
    let list = if has_page { count.clamp(1, (inner / 2).max(3)) } else { inner };
    let at = all.iter().position(|line| line.key() == desk.selected).unwrap_or(0);
    let first = (at + 1).saturating_sub(usize::from(list));
    // A rule stands between them.
    let page = if has_page { (list + 2, height.saturating_sub(1)) } else { (0, 0) };
    Places { list: (1, 1 + list), page, first }
}

/// The frame, and where the cursor is while a text is written.
pub fn frame(desk: &Desk, (width, height): (u16, u16)) -> (Buffer, Option<Position>) {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    if height == 0 || width == 0 {
        return (buffer, None);
    }
    let mut draw = Draw { buffer: &mut buffer, width: usize::from(width) };
    if desk.mode == Mode::Help {
        return (help(draw, height), None);
    }
    draw.head(desk);
    let places = places(desk, height);
    let all = lines(desk);
    let shown = all.iter().skip(places.first).zip(places.list.0..places.list.1);
    let names = all.iter().map(|line| match line {
        ListLine::Agent(_, row, depth) => Span::raw(printable(&row.name)).width() + 2 * depth,
        _ => 0,
    });
    let widest = names.max().unwrap_or(0).clamp(4, (usize::from(width) / 4).max(4));
    shown.for_each(|(line, y)| draw.list_line(desk, line, widest, y));
    // What cannot be read is not empty.
    let problem = desk.sites.iter().find_map(|site| site.problems.first()).filter(|_| all.is_empty());
    let has_page = places.page.1 > places.page.0 && problem.is_none();
    if all.is_empty() && height > 2 {
        let text = match problem {
            Some(problem) => printable(problem),
            None if !desk.filter.is_empty() => "no agent has this word".to_owned(),
            None => desk.nobody().to_owned(),
        };
        let rows = broken(&text, draw.room());
        for (row, y) in rows.iter().zip(1..height - 1) {
            draw.text(1, y, row, DIM);
        }
    }
    if has_page {
        draw.rule(desk, places.page.0 - 1);
        draw.page(desk, places.page);
    }
    let cursor = if height > 1 { draw.foot(desk, height - 1) } else { None };
    (buffer, cursor)
}

/// All keys, in two columns where there is room.
fn help(mut draw: Draw<'_>, height: u16) -> Buffer {
    draw.text(1, 0, "Keys; any key goes back", BOLD);
    let rows = usize::from(height.saturating_sub(1)).max(1);
    let rows = if draw.width < 2 * COLUMN { rows } else { rows.min(KEYS.len().div_ceil(2)) };
    for (at, (keys, _, what)) in KEYS.iter().enumerate() {
        let (x, y) = (at / rows * COLUMN, u16::try_from(at % rows + 1).unwrap_or(u16::MAX));
        if y < height {
            draw.text(x + 1, y, keys, BOLD);
            draw.text(x + 14, y, what, Style::new());
        }
    }
    if height > 1 {
        let marks = "? asks ✗ error ● review … rests ↻ resume ◷ limited ~ silent ! look ▶ works";
        draw.fill(height - 1, DIM);
        draw.text(1, height - 1, marks, DIM);
    }
    draw.buffer.clone()
}

pub(super) struct Draw<'b> {
    buffer: &'b mut Buffer,
    pub(super) width: usize,
}

impl Draw<'_> {
    /// Writes a text as far as there is room. Returns where it ended.
    pub(super) fn text(&mut self, x: usize, y: u16, text: &str, style: Style) -> usize {
        if x >= self.width {
            return x;
        }
        let at = u16::try_from(x).unwrap_or(u16::MAX);
        let text: String = text.chars().map(without_flags).collect();
        usize::from(self.buffer.set_stringn(at, y, text, self.width - x, style).0)
    }

    /// The same, so that it ends at the right edge, unless that is left of `from`.
    pub(super) fn right(&mut self, from: usize, y: u16, text: &str, style: Style) -> usize {
        let Some(x) = self.width.checked_sub(Span::raw(text).width() + 1).filter(|x| *x >= from) else {
            return self.width;
        };
        self.text(x, y, text, style);
        x
    }

    fn fill(&mut self, y: u16, style: Style) {
        let width = u16::try_from(self.width).unwrap_or(u16::MAX);
        self.buffer.set_style(Rect::new(0, y, width, 1), style);
    }

    /// What is true of all: the repository, whether an `up` runs, how many need a person.
    fn head(&mut self, desk: &Desk) {
        let rows = || desk.sites.iter().flat_map(|site| &site.rows).filter(|row| row.is_on_board());
        let needy = rows().filter(|row| matches!(row.standing(), Standing::Needs(_))).count();
        let limited: Vec<&Row> = rows().filter(|row| row.activity.as_deref() == Some("limited")).collect();
        let first = limited.iter().filter(|row| row.record["limited_until_at"].is_string());
        let first =
            first.min_by_key(|row| row.record["limited_until_at"].as_str()).and_then(|row| row.limited_until(desk.now));
        let place = match &desk.sites[..] {
            [site] if self.width < NARROW || !site.is_told => printable(&site.name),
            [site] => {
                let branch = site.rows.iter().find(|row| row.is_main).and_then(|row| row.branch.as_deref());
                printable(&format!("{} · {} {}", site.name, branch.unwrap_or("no branch"), site.head))
            }
            sites => format!("{} repositories", sites.len()),
        };
        let floors: Vec<_> = desk.sites.iter().filter_map(|site| site.floor.as_ref()).collect();
        let up = match floors.iter().all(|floor| floor.is_up) {
            _ if floors.is_empty() => None,
            true => Some("up"),
            false => Some("up stopped (U starts it)"),
        };
        let is_known = desk.sites.iter().all(|site| site.is_told && (site.floor.is_some() || site.problems.is_empty()));
        let need = is_known.then(|| format!("{needy} need you"));
        let limit = (!limited.is_empty())
            .then(|| format!("{} limited{}", limited.len(), first.map_or(String::new(), |at| format!(" until {at}"))));
        let problem = desk.sites.iter().flat_map(|site| site.problems.first()).next().map(|why| printable(why));
        let filter = (!desk.filter.is_empty()).then(|| printable(&format!("only /{}", desk.filter)));
        let parts = [Some(place), problem, up.map(str::to_owned), need, limit, filter];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let end = self.text(1, 0, &cut(&parts.join(" · "), self.width.saturating_sub(1)), BOLD);
        let clock: String = local_clock(desk.now).chars().take(5).collect();
        self.right(end + 1, 0, &clock, Style::new());
    }

    fn list_line(&mut self, desk: &Desk, line: &ListLine<'_>, names: usize, y: u16) {
        let is_chosen = line.key().is_some() && line.key() == desk.selected;
        match line {
            ListLine::Group(site) => {
                let site = &desk.sites[*site];
                let up = if site.floor.as_ref().is_none_or(|floor| floor.is_up) { "" } else { "  up stopped" };
                self.text(0, y, &format!(" {}{up}", printable(&site.name)), BOLD);
            }
            ListLine::Idle(site, count) => {
                let queue = desk.sites[*site].floor.as_ref().map_or(0, |floor| floor.queue);
                let idle = match count {
                    0 if desk.shows_idle => Some("⏎ hides the idle ones".to_owned()),
                    0 => None,
                    count => Some(format!("{count} idle")),
                };
                let queue = (queue > 0).then(|| format!("queue {queue}"));
                let parts: Vec<String> = idle.into_iter().chain(queue).collect();
                self.text(3, y, &parts.join(" · "), DIM);
            }
            ListLine::Agent(site, row, depth) => self.agent(desk, *site, row, (names, *depth), y),
        }
        if is_chosen {
            self.fill(y, if desk.is_inside { BOLD } else { CHOSEN });
        }
    }

    fn agent(&mut self, desk: &Desk, site: usize, row: &Row, (names, depth): (usize, usize), y: u16) {
        let is_narrow = self.width < NARROW;
        let (mark, word) = state(row);
        let style = style(row.standing());
        self.text(1, y, mark, style);
        let name = cut(&format!("{}{}", "  ".repeat(depth), printable(&row.name)), names);
        self.text(3, y, &name, Style::new());
        let mut x = 3 + names + 1;
        if !is_narrow {
            self.text(x, y, word, style);
            x += 9;
        }
        let since = row.told.since.map(|since| age(desk.now.as_second() - since)).unwrap_or_default();
        self.text(x, y, &format!("{since:>4}"), DIM);
        x += 6;
        let side = if is_narrow { String::new() } else { side(row) };
        let end = if side.is_empty() { self.width } else { self.right(x + 8, y, &side, Style::new()) };
        let running = desk.running.iter().find(|running| running.about == Some(key(row)));
        let place = if desk.sites.len() > 1 && matches!(row.standing(), Standing::Needs(_)) {
            format!("{}: ", printable(&desk.sites[site].name))
        } else {
            String::new()
        };
        let what = match running {
            Some(running) => format!("{} …", running.verb),
            None => place + &what(row, desk.now),
        };
        self.text(x, y, &cut(&what, end.saturating_sub(x + 1)), Style::new());
    }

    /// The line above the page: whose it is, and which page.
    fn rule(&mut self, desk: &Desk, y: u16) {
        self.text(0, y, &"─".repeat(self.width), DIM);
        let Some((_, row)) = desk.row() else { return };
        let mut x = self.text(1, y, &format!(" {} · ", printable(&row.name)), BOLD);
        for (kind, word) in [
            (PageKind::Terminal, "terminal"),
            (PageKind::Diff, "diff"),
            (PageKind::Task, "task"),
            (PageKind::Log, "log"),
        ] {
            let is_shown = kind == desk.kind;
            let word = if is_shown { format!("[{word}] ") } else { format!("{word} ") };
            x = self.text(x, y, &word, if is_shown { BOLD } else { DIM });
        }
        let Some((review, rows)) = desk.diff() else { return self.more_rows(desk, x, y) };
        let at = rows[..rows.len().min(desk.at + 1)].iter().rev().find_map(|row| match row {
            DiffRow::Line(line) => Some(*line),
            _ => None,
        });
        if let Some(at) = at {
            let path =
                review.lines[at..].iter().map(|line| &*line.path).find(|path| !path.is_empty()).unwrap_or_default();
            let nth = review.lines[..=at].iter().filter(|line| line.is_file()).count();
            x = self.text(x, y, &format!("─ {} {nth}/{} ", printable(path), review.files), Style::new());
        }
        let commit = desk.row().and_then(|(_, row)| row.record["commit"].as_str());
        if commit.is_some_and(|commit| commit != review.commit) {
            x = self.text(x, y, "─ there is a newer commit ", BOLD);
        }
        if let Some((added, removed)) = review.since.filter(|since| *since != (0, 0)) {
            x = self.text(x, y, &format!("─ since your last look: +{added} -{removed} "), Style::new());
        }
        self.more_rows(desk, x, y);
    }

    /// How many rows of the list are out of sight.
    fn more_rows(&mut self, desk: &Desk, x: usize, y: u16) {
        let (from, to) = places(desk, desk.size.1).list;
        let hidden = lines(desk).len().saturating_sub(usize::from(to - from));
        if hidden > 0 {
            self.right(x, y, &format!(" {hidden} more rows "), DIM);
        }
    }

    fn page(&mut self, desk: &Desk, (from, to): (u16, u16)) {
        let height = usize::from(to - from);
        match desk.shown().map(|page| &page.content) {
            None if desk.row().is_none() => {}
            None => {
                self.text(1, from, "reading …", DIM);
            }
            Some(Content::Diff(review)) => self.diff(desk, review, (from, to)),
            Some(Content::Text(lines)) => {
                let broken: Vec<String> = lines.iter().flat_map(|line| broken(line, self.width)).collect();
                // Of a log the end counts, of anything else the beginning.
                let most = broken.len().saturating_sub(height);
                let first = if desk.kind == PageKind::Log { most - desk.at.min(most) } else { desk.at.min(most) };
                for (line, y) in broken.iter().skip(first).zip(from..to) {
                    self.text(0, y, line, Style::new());
                }
            }
            Some(Content::Screen(lines, _)) => {
                let most = lines.len().saturating_sub(height);
                for (line, y) in lines.iter().skip(most - desk.at.min(most)).zip(from..to) {
                    let mut x = 0;
                    for (text, style) in line {
                        x = self.text(x, y, text, *style);
                    }
                }
            }
        }
    }

    fn diff(&mut self, desk: &Desk, review: &Review, (from, to): (u16, u16)) {
        let Some((_, rows)) = desk.diff() else { return };
        let height = usize::from(to - from);
        // The line at hand is in the middle, as far as there are lines around it.
        let first = desk.at.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
        for (at, y) in (first..rows.len()).zip(from..to) {
            match &rows[at] {
                DiffRow::Comment(_, text) => {
                    self.text(5, y, &format!("│ {text}"), YELLOW.into());
                }
                DiffRow::Stale(comment) => {
                    let comment = &review.comments[*comment];
                    let text = |key: &str| printable(comment[key].as_str().unwrap_or_default());
                    let stale: String = text("stale").chars().take(7).collect();
                    let shown = format!("stale, of {stale}: {}:{}  {}", text("path"), comment["line"], text("quote"));
                    self.text(1, y, &shown, YELLOW.into());
                }
                DiffRow::Cut => {
                    let name = desk.row().map(|(_, row)| shell_word(row.name.as_ref())).unwrap_or_default();
                    self.text(1, y, &format!("the diff is longer: `shopfloor review {name}` shows all"), YELLOW.into());
                }
                DiffRow::Line(line) => {
                    let is_said = matches!(rows.get(at + 1), Some(DiffRow::Comment(..)));
                    self.diff_line(&review.lines[*line], is_said, y);
                }
            }
            if at == desk.at && desk.is_inside {
                self.fill(y, CHOSEN);
            }
        }
    }

    fn diff_line(&mut self, line: &DiffLine, is_said: bool, y: u16) {
        let style = match line.kind {
            LineKind::Added => GREEN.into(),
            LineKind::Removed => RED.into(),
            LineKind::Hunk => CYAN.into(),
            LineKind::Head => BOLD,
            LineKind::Context => Style::new(),
        };
        let text = printable(&line.text.replace('\t', "    "));
        let Some(number) = line.number() else {
            self.text(0, y, &cut(&text, self.width), style);
            return;
        };
        let bar = if is_said { "▌" } else { " " };
        self.text(0, y, &format!("{number:>5}"), DIM);
        // Where it goes on out of sight, that is to be seen.
        self.text(5, y, &cut(&format!("{bar}{}{text}", line.sign()), self.width.saturating_sub(5)), style);
    }
}

/// The letter in place of half a flag: terminals do not agree how wide those are.
fn without_flags(c: char) -> char {
    match c {
        '\u{1f1e6}'..='\u{1f1ff}' => char::from_u32(u32::from(c) - 0x1f1e6 + u32::from('A')).unwrap_or(c),
        _ => c,
    }
}

/// A text in lines of so many columns, broken at blanks where there are some.
pub fn broken(text: &str, width: usize) -> Vec<String> {
    const MOST: usize = 4_000;
    let text = text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end]);
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.last().map_or("", String::as_str);
        if !last.is_empty() && Span::raw(last).width() + Span::raw(word.trim_end()).width() > width {
            lines.push(String::new());
        }
        for c in word.chars() {
            let last = lines.last().map_or("", String::as_str);
            let c = c.to_string();
            if Span::raw(last).width() + Span::raw(c.as_str()).width() > width.max(2) {
                lines.push(String::new());
            }
            lines.last_mut().into_iter().for_each(|last| last.push_str(&c));
        }
    }
    lines
}

fn style(standing: Standing) -> Style {
    match standing {
        Standing::Needs(Need::Asks) => Style::new().fg(MAGENTA).add_modifier(Modifier::BOLD),
        Standing::Needs(Need::Fault) => Style::new().fg(RED).add_modifier(Modifier::BOLD),
        Standing::Needs(_) => Style::new().fg(YELLOW).add_modifier(Modifier::BOLD),
        Standing::Works => GREEN.into(),
        Standing::Idle | Standing::Offline => DIM,
    }
}
