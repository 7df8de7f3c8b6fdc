//! What an action does to the desk, and which effects it asks for.

use crossterm::event::{Event, KeyEventKind};
use serde_json::Value;
use shopfloor_core::board::Standing;
use shopfloor_core::diff::LineKind;
use shopfloor_core::text::printable;

use super::keys::{Action, action};
use super::list::{ListLine, address, lines};
use super::{Desk, DiffRow, Effect, Mode, SiteView, Target, What, diff_rows, place};
use crate::facts::desk_feed::{Content, Ended, Page, PageKind, refusal, review};

/// How far a page key moves.
const HALF: usize = 10;

const PAGES: [PageKind; 4] = [PageKind::Terminal, PageKind::Diff, PageKind::Task, PageKind::Log];

impl Desk {
    /// What a repository is like now. The selection stays where it was.
    pub fn set_site(&mut self, site: usize, view: SiteView) {
        let at = self.position();
        if let Some(before) = self.sites.get_mut(site) {
            *before = view;
        }
        self.select(at);
    }

    /// The place of the selected line.
    fn position(&self) -> usize {
        let all = lines(self);
        all.iter().position(|line| line.key() == self.selected).unwrap_or(0)
    }

    /// Selects what was selected if it is there, else the line at this place.
    fn select(&mut self, at: usize) {
        let keys: Vec<_> = lines(self).iter().filter_map(ListLine::key).collect();
        if self.selected.as_ref().is_none_or(|selected| !keys.contains(selected)) {
            self.turn_to(keys.get(at.min(keys.len().saturating_sub(1))).cloned());
        }
    }

    fn turn_to(&mut self, selected: Option<(usize, String)>) {
        if self.selected != selected {
            self.selected = selected;
            (self.at, self.is_inside, self.page) = (0, false, None);
        }
    }

    /// A page has come.
    pub fn set_page(&mut self, page: Page) {
        let is_first = self.shown().is_none();
        self.page = Some(page);
        if is_first {
            self.at = self.first_change().unwrap_or(0);
        }
        let last = self.page_length().saturating_sub(1);
        self.at = self.at.min(last);
    }

    /// What a person does at the terminal.
    pub fn input(&mut self, event: &Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                return action(self, *key).map_or(Vec::new(), |action| self.act(action));
            }
            Event::Paste(text) => match &mut self.mode {
                Mode::Write { text: written, .. } => written.push_str(&text.replace('\r', "\n")),
                Mode::Filter => self.filter.extend(text.chars().filter(|c| !c.is_control())),
                _ => {}
            },
            _ => {}
        }
        Vec::new()
    }

    /// Selects the line of the list at this place.
    pub fn click(&mut self, at: usize) {
        if let Some(key) = lines(self).get(at).and_then(ListLine::key) {
            self.is_inside = false;
            self.turn_to(Some(key));
        }
    }

    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        let two = self.pending.take();
        if !matches!(action, Action::Type(_) | Action::Erase) {
            self.said = None;
        }
        match std::mem::take(&mut self.mode) {
            Mode::Filter => return self.filtering(action),
            Mode::Write { what, to, text } => return self.writing(what, to, text, action),
            Mode::Land(target) => return self.landing(target, action),
            Mode::Help if action == Action::Suspend => return vec![Effect::Suspend],
            Mode::Help => return Vec::new(),
            Mode::Browse => {}
        }
        match action {
            Action::Quit => return vec![Effect::Quit],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Help => self.mode = Mode::Help,
            Action::Begin(first) => self.pending = Some(first),
            Action::Cancel if two.is_some() => {}
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last => {
                self.go(action)
            }
            Action::NextChange | Action::LastChange | Action::NextFile | Action::LastFile => self.jump(action),
            Action::Filter => {
                self.mode = Mode::Filter;
                self.filter.clear();
            }
            Action::NextPage => {
                let at = PAGES.iter().position(|kind| *kind == self.kind).unwrap_or(0);
                (self.kind, self.at, self.has_preview) = (PAGES[(at + 1) % PAGES.len()], 0, true);
                self.page = None;
            }
            Action::In => (self.is_inside, self.has_preview) = (self.row().is_some(), true),
            Action::Out if self.is_inside => self.is_inside = false,
            Action::Out => {
                let at = self.position();
                self.filter.clear();
                self.select(at);
            }
            Action::Preview => (self.has_preview, self.is_inside) = (!self.has_preview, false),
            Action::Oldest => {
                self.filter.clear();
                match self.oldest(None) {
                    Some(oldest) => self.turn_to(Some(oldest)),
                    None => self.said = Some("nobody waits for you".into()),
                }
            }
            Action::New => {
                let site = self.selected.as_ref().map_or(0, |(site, _)| *site);
                let to = Target { site, ..Target::default() };
                self.mode = Mode::Write { what: What::New, to, text: String::new() };
            }
            _ => return self.on_agent(action),
        }
        Vec::new()
    }

    /// Who has waited longest for a person, but for this one.
    fn oldest(&self, but: Option<&String>) -> Option<(usize, String)> {
        let needs = |line: &ListLine<'_>| match line {
            ListLine::Agent(_, row, _) => matches!(row.standing(), Standing::Needs(_)) && Some(&row.worktree) != but,
            _ => false,
        };
        lines(self).into_iter().find(needs).and_then(|line| line.key())
    }

    /// Actions about the selected agent.
    fn on_agent(&mut self, action: Action) -> Vec<Effect> {
        let Some((site, row)) = self.row() else {
            if action == Action::Attach && self.selected.is_some() {
                // The line stays the selected one, wherever it is then.
                self.shows_idle = !self.shows_idle;
            }
            return Vec::new();
        };
        if action == Action::StartUp {
            return vec![self.run(site, None, &["worker-ctl", "up", "--detach"], None)];
        }
        if action == Action::Request {
            let address = address(row).map(str::to_owned);
            if address.is_none() {
                self.said = Some("it has no request; `shopfloor request NAME` makes one".into());
            }
            return address.map(Effect::Open).into_iter().collect();
        }
        let Some(target) = self.target() else {
            self.said = Some(format!("no agent works there yet: `shopfloor adopt {}`", printable(&row.worktree)));
            return Vec::new();
        };
        let write = |what: What| Mode::Write { what, to: target.clone(), text: String::new() };
        match action {
            Action::Attach => return vec![Effect::Attach(target)],
            Action::Answer(number) => return self.answer(&target, number).into_iter().collect(),
            Action::Review => return vec![self.run_for(&target, "review", &[], None)],
            Action::Resume => return vec![self.run_for(&target, "resume", &[], None)],
            Action::Send if row.task.as_deref() == Some("idle") => self.mode = write(What::Task),
            Action::Send => self.mode = write(What::Send),
            Action::Land => {
                // What is shown is pinned first, so that nothing else lands.
                self.landing = Some(target.clone());
                return vec![self.run_for(&target, "review", &[], None)];
            }
            Action::Back => {
                let count = self.review().map_or(0, |review| review.comments.len());
                let root = self.sites[site].floor.as_ref().map(|floor| floor.root.clone());
                if let Some(root) = root.filter(|_| count > 0) {
                    let file = root.join(format!("comments/{}.json", target.worker));
                    return vec![self.run_for(&target, "reject", &["--comments", &file.to_string_lossy()], None)];
                }
                self.mode = write(What::Back);
            }
            Action::Comment | Action::Edit | Action::Delete | Action::Restore => return self.comment(action, target),
            _ => {}
        }
        Vec::new()
    }

    /// A command of worker-ctl for an agent.
    fn run_for(&mut self, target: &Target, verb: &str, more: &[&str], input: Option<String>) -> Effect {
        let words = [&["worker-ctl", verb, &target.worker][..], more].concat();
        self.run(target.site, Some(target.worktree.clone()), &words, input)
    }

    /// A command, which its row shows until it has ended.
    fn run(&mut self, site: usize, about: Option<String>, words: &[&str], input: Option<String>) -> Effect {
        self.running.push((about.clone(), words[1].to_owned()));
        Effect::Run { site, about, words: words.iter().map(|word| (*word).to_owned()).collect(), input }
    }

    /// The answer to the menu that is drawn, once.
    fn answer(&mut self, target: &Target, number: usize) -> Option<Effect> {
        let Some(menu) = self.menu().cloned() else {
            self.said = Some("no menu is shown here; Enter attaches".into());
            return None;
        };
        let mark = format!("{number}.");
        if !menu.lines.iter().any(|line| line.starts_with(&mark) || line.starts_with(&format!("{number})"))) {
            self.said = Some(format!("the menu has no line {number}"));
            return None;
        }
        self.answered = Some(menu.id.clone());
        Some(self.run_for(target, "answer", &[&number.to_string(), "--menu", &menu.id], None))
    }

    fn comment(&mut self, action: Action, to: Target) -> Vec<Effect> {
        if action == Action::Restore {
            let Some((place, text)) = self.deleted.take() else { return Vec::new() };
            return vec![self.run_for(&to, "comment", &[&place, "-"], Some(text))];
        }
        let Some((place, text, is_there)) = self.comment_here() else {
            self.said = Some("comments belong to lines of a diff: `r` shows it, `l` goes into it".into());
            return Vec::new();
        };
        match action {
            Action::Comment => self.mode = Mode::Write { what: What::Comment(place), to, text },
            Action::Edit => return vec![Effect::Edit { place, to, text }],
            _ if is_there => {
                let effect = self.run_for(&to, "comment", &[&place, "--delete"], None);
                self.deleted = Some((place, text));
                return vec![effect];
            }
            _ => self.said = Some("no comment is on this line".into()),
        }
        Vec::new()
    }

    /// The place of the selected line of the diff, and the comment there.
    fn comment_here(&self) -> Option<(String, String, bool)> {
        let review = self.review()?;
        let rows = diff_rows(review);
        let text = |at: usize| review.comments[at]["text"].as_str().unwrap_or_default().to_owned();
        match rows.get(self.at)? {
            DiffRow::Stale(at) => {
                let comment = &review.comments[*at];
                let old = if comment["side"] == "old" { "-" } else { "" };
                let place = format!("{}:{old}{}", comment["path"].as_str().unwrap_or_default(), comment["line"]);
                Some((place, text(*at), true))
            }
            DiffRow::Line(line) => {
                let there = rows[self.at + 1..].first().and_then(|row| match row {
                    DiffRow::Comment(at, _) => Some(text(*at)),
                    _ => None,
                });
                let is_there = there.is_some();
                Some((place(&review.lines[*line])?, there.unwrap_or_default(), is_there))
            }
            DiffRow::Comment(..) => None,
        }
    }

    fn filtering(&mut self, action: Action) -> Vec<Effect> {
        let at = self.position();
        self.mode = Mode::Filter;
        match action {
            Action::Type(c) => self.filter.push(c),
            Action::Erase => drop(self.filter.pop()),
            Action::Suspend => return vec![Effect::Suspend],
            Action::Enter => self.mode = Mode::Browse,
            _ => {
                self.filter.clear();
                self.mode = Mode::Browse;
            }
        }
        self.select(at);
        Vec::new()
    }

    fn writing(&mut self, what: What, to: Target, mut text: String, action: Action) -> Vec<Effect> {
        match action {
            Action::Type(c) => text.push(c),
            Action::Erase => drop(text.pop()),
            Action::Enter => return self.written(&what, &to, text).into_iter().collect(),
            Action::Suspend => {}
            _ => return Vec::new(),
        }
        self.mode = Mode::Write { what, to, text };
        if action == Action::Suspend { vec![Effect::Suspend] } else { Vec::new() }
    }

    /// What is done with a text.
    pub fn written(&mut self, what: &What, to: &Target, text: String) -> Option<Effect> {
        match what {
            What::New => {
                let (name, task) = text.trim().split_once(char::is_whitespace)?;
                Some(self.run(to.site, None, &["shopfloor", "new", name, task.trim()], None))
            }
            What::Comment(place) if text.trim().is_empty() => {
                let (_, _, is_there) = self.comment_here()?;
                is_there.then(|| self.run_for(to, "comment", &[place, "--delete"], None))
            }
            _ if text.trim().is_empty() => None,
            What::Comment(place) => Some(self.run_for(to, "comment", &[place, "-"], Some(text))),
            What::Back => Some(self.run_for(to, "reject", &["-"], Some(text))),
            What::Send => Some(self.run_for(to, "message", &["-"], Some(text))),
            What::Task => Some(self.run_for(to, "start", &["--task", "-"], Some(text))),
        }
    }

    fn landing(&mut self, target: Target, action: Action) -> Vec<Effect> {
        match action {
            Action::Enter => vec![self.run_for(&target, "accept", &[], None)],
            Action::Suspend => {
                self.mode = Mode::Land(target);
                vec![Effect::Suspend]
            }
            _ => Vec::new(),
        }
    }

    /// A command has ended.
    pub fn end(&mut self, ended: &Ended) {
        let Ended { words, about, answer } = ended;
        let verb = words.get(1).cloned().unwrap_or_default();
        if let Some(at) = self.running.iter().position(|(what, running)| what == about && *running == verb) {
            self.running.remove(at);
        }
        let name = words.get(2).map(|name| printable(name)).unwrap_or_default();
        let is_shown = |desk: &Desk| desk.row().is_some_and(|(_, row)| Some(&row.worktree) == about.as_ref());
        self.changes += u64::from(["comment", "reject"].contains(&verb.as_str()));
        let landing = if verb == "review" { self.landing.take() } else { None };
        let answer = match answer {
            Ok(answer) if answer.status.success() => answer,
            Ok(answer) => return self.said = Some(refusal(answer)),
            Err(failure) => return self.said = Some(failure.to_string()),
        };
        if verb == "review" && is_shown(self) {
            let content = Content::Diff(Box::new(review(answer.records.first().unwrap_or(&Value::Null))));
            (self.has_preview, self.is_inside) = (true, true);
            self.turn_page(PageKind::Diff);
            self.set_page(Page { worktree: about.clone().unwrap_or_default(), kind: PageKind::Diff, content });
            if let Some(target) = landing.filter(|target| Some(&target.worktree) == about.as_ref()) {
                self.mode = Mode::Land(target);
            }
        }
        if ["accept", "reject"].contains(&verb.as_str()) && is_shown(self) {
            // What is done is done, and somebody else may wait.
            self.filter.clear();
            let next = self.oldest(about.as_ref());
            self.turn_to(next.or(self.selected.clone()));
            self.is_inside = false;
        }
        self.said = match verb.as_str() {
            "message" => Some(format!("sent to {name}")),
            "reject" => Some(format!("{name} goes on with what you said")),
            "accept" => Some(format!("landed the work of {name}")),
            "answer" => Some(format!("answered {name}")),
            "resume" => Some(format!("{name} goes on")),
            "start" => Some(format!("{name} has the task")),
            "new" => Some(format!("{name} is at work")),
            _ => self.said.take(),
        };
    }

    fn turn_page(&mut self, kind: PageKind) {
        if self.kind != kind {
            (self.kind, self.at, self.page) = (kind, 0, None);
        }
    }

    /// How many rows the page has.
    fn page_length(&self) -> usize {
        match self.shown().map(|page| &page.content) {
            Some(Content::Diff(review)) => diff_rows(review).len(),
            Some(Content::Screen(lines, _)) => lines.len(),
            Some(Content::Text(lines)) => lines.len(),
            None => 0,
        }
    }

    /// Moves in the list, or in the page: there up means back in time, but for a diff.
    fn go(&mut self, action: Action) {
        if self.is_inside {
            let is_from_top = match self.shown().map(|page| &page.content) {
                Some(Content::Screen(..)) => false,
                _ => self.kind != PageKind::Log,
            };
            let (length, at) = (self.page_length(), self.at);
            let last = length.saturating_sub(1);
            let (less, more) = (|by: usize| at.saturating_sub(by), |by: usize| (at + by).min(last));
            let is_up = matches!(action, Action::Up | Action::PageUp | Action::First);
            let by = match action {
                Action::Up | Action::Down => 1,
                Action::PageUp | Action::PageDown => HALF,
                _ => length,
            };
            self.at = if is_up == is_from_top { less(by) } else { more(by) };
            self.leave_comments(!is_up);
            return;
        }
        let keys: Vec<_> = lines(self).iter().filter_map(ListLine::key).collect();
        let at = keys.iter().position(|key| Some(key) == self.selected.as_ref()).unwrap_or(0);
        let last = keys.len().saturating_sub(1);
        let to = match action {
            Action::Up => at.saturating_sub(1),
            Action::Down => at + 1,
            Action::PageUp => at.saturating_sub(HALF),
            Action::PageDown => at + HALF,
            Action::First => 0,
            _ => last,
        };
        self.turn_to(keys.get(to.min(last)).cloned());
    }

    /// Comments are no lines to stand on.
    fn leave_comments(&mut self, is_down: bool) {
        let Some(rows) = self.review().map(diff_rows) else { return };
        let is_line = |at: &usize| !matches!(rows[*at], DiffRow::Comment(..));
        let after = (self.at..rows.len()).find(is_line);
        let before = (0..(self.at + 1).min(rows.len())).rev().find(is_line);
        self.at = if is_down { after.or(before) } else { before.or(after) }.unwrap_or(0);
    }

    /// The first row of a change, where a diff begins to matter.
    fn first_change(&self) -> Option<usize> {
        let review = self.review()?;
        diff_rows(review).iter().position(|row| match row {
            DiffRow::Line(line) => matches!(review.lines[*line].kind, LineKind::Added | LineKind::Removed),
            DiffRow::Stale(_) => true,
            DiffRow::Comment(..) => false,
        })
    }

    /// To the next or last change or file of a diff.
    fn jump(&mut self, action: Action) {
        let Some(review) = self.review() else { return };
        let rows = diff_rows(review);
        let kind = |at: usize| match rows[at] {
            DiffRow::Line(line) => Some(&review.lines[line]),
            _ => None,
        };
        let is_change =
            |at: usize| kind(at).is_some_and(|line| matches!(line.kind, LineKind::Added | LineKind::Removed));
        let above = |at: usize| rows[..at].iter().rposition(|row| !matches!(row, DiffRow::Comment(..)));
        let begins = |at: &usize| match action {
            Action::NextChange | Action::LastChange => is_change(*at) && !above(*at).is_some_and(is_change),
            _ => kind(*at).is_some_and(|line| line.kind == LineKind::Head && line.text.starts_with("diff --git ")),
        };
        let to = match action {
            Action::NextChange | Action::NextFile => (self.at + 1..rows.len()).find(begins),
            _ => (0..self.at).rev().find(begins),
        };
        (self.at, self.is_inside) = (to.unwrap_or(self.at), true);
    }

    /// A turn of the wheel over the page.
    pub fn wheel(&mut self, is_up: bool) {
        let inside = std::mem::replace(&mut self.is_inside, true);
        for _ in 0..3 {
            self.go(if is_up { Action::Up } else { Action::Down });
        }
        self.is_inside = inside;
    }
}
