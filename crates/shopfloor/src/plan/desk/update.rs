//! What an action does to the desk, and which effects it asks for.

use crossterm::event::{Event, KeyCode, KeyEventKind};
use serde_json::{Value, json};
use shopfloor_core::board::{Need, Standing};
use shopfloor_core::text::{printable, shell_word};

use super::frame::LOW;
use super::keys::{Action, action};
use super::list::{ListLine, address, lines};
use super::texts::beginner;
use super::{Desk, Draft, Effect, Mode, Running, SiteView, Target, What, key};
use crate::facts::desk_feed::{Content, Ended, MOST_DIFF, Page, PageKind, refusal, review};
use crate::plan::rows::Row;

const PAGES: [PageKind; 4] = [PageKind::Terminal, PageKind::Diff, PageKind::Task, PageKind::Log];

impl Desk {
    /// What a repository is like now. The selection stays where it was.
    pub fn set_site(&mut self, site: usize, mut view: SiteView) {
        let at = self.position();
        self.calm(&mut view.rows);
        if let Some(before) = self.sites.get_mut(site) {
            *before = view;
        }
        self.select(at);
    }

    /// Nobody waits in rows whose work was settled here, until the tools tell something new of them.
    fn calm(&mut self, rows: &mut [Row]) {
        for row in rows {
            let key = key(row);
            self.settled.retain(|(settled, before)| *settled != key || *before == state(row));
            if self.settled.iter().any(|(settled, _)| *settled == key) {
                (row.told.need, row.waits_for) = (None, None);
            }
        }
    }

    /// The place of the selected line. Until a person selects one, it is the first.
    fn position(&self) -> usize {
        let all = lines(self);
        all.iter().position(|line| line.key() == self.selected).filter(|_| self.is_chosen).unwrap_or(0)
    }

    /// Selects what was selected if it is there, else the line at this place.
    fn select(&mut self, at: usize) {
        let keys: Vec<_> = lines(self).iter().filter_map(ListLine::key).collect();
        let is_there = self.selected.as_ref().is_some_and(|selected| keys.contains(selected));
        if !is_there || !self.is_chosen {
            self.turn_to(keys.get(at.min(keys.len().saturating_sub(1))).cloned());
        }
    }

    pub(super) fn turn_to(&mut self, selected: Option<(usize, String)>) {
        if self.selected != selected {
            self.selected = selected;
            (self.at, self.is_inside) = (0, false);
            self.leave_page();
            if self.row().is_some_and(|(_, row)| row.told.need == Some(Need::Asks)) {
                self.kind = PageKind::Terminal;
            }
        }
    }

    /// A page has come.
    pub fn set_page(&mut self, mut page: Page) {
        let before = self.review().map(|before| (before.commit.clone(), before.since));
        if let (Some((commit, since)), Content::Diff(now)) = (before, &mut page.content)
            && commit == now.commit
        {
            // From the moment of a look on nothing has changed since.
            now.since = now.since.or(since);
        }
        let is_first = self.shown().is_none();
        self.page = Some(page);
        if is_first {
            self.at = self.first_change().unwrap_or(0);
        }
        self.at = self.at.min(self.last());
        self.leave_comments(true);
    }

    /// What a person does at the terminal.
    pub fn input(&mut self, event: &Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let is_soon = |last: jiff::Timestamp| self.now.duration_since(last).as_millis() < 1_000;
                let is_text = matches!(key.code, KeyCode::Char(_) | KeyCode::Enter);
                if self.deaf.take().is_some_and(is_soon) && is_text {
                    // Up to its end.
                    self.deaf = (key.code != KeyCode::Enter).then_some(self.now);
                    return Vec::new();
                }
                return action(self, *key).map_or(Vec::new(), |action| self.act(action));
            }
            Event::Paste(text) => {
                if let Mode::Write(draft) = &mut self.mode {
                    draft.text.push_str(&text.replace('\r', "\n"));
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Selects the line of the list at this place.
    pub fn click(&mut self, at: usize) {
        let key = lines(self).get(at).and_then(ListLine::key).filter(|_| self.mode == Mode::Browse);
        if key.is_some() {
            (self.is_inside, self.is_chosen) = (false, true);
            self.turn_to(key);
        }
    }

    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        let two = self.pending.take();
        if !matches!(action, Action::Type(_) | Action::Erase) {
            self.said = None;
        }
        self.is_chosen = true;
        match (std::mem::take(&mut self.mode), action) {
            (mode, Action::Suspend) => {
                self.mode = mode;
                return vec![Effect::Suspend];
            }
            (Mode::Write(draft), _) => return self.writing(draft, action).into_iter().collect(),
            (Mode::Land(target, _), Action::Enter) => return vec![self.run_for(&target, "accept", &[], None)],
            (Mode::Land(..) | Mode::Help, _) => return Vec::new(),
            (Mode::Browse, _) => {}
        }
        let site = self.selected.as_ref().map_or(0, |(site, _)| *site);
        let write =
            |what: What| Mode::Write(Draft { what, to: Target { site, ..Target::default() }, text: String::new() });
        match action {
            Action::Quit => return vec![Effect::Quit],
            Action::Help => self.mode = Mode::Help,
            Action::Begin(first) => self.pending = Some(first),
            Action::Cancel if two.is_some() => {}
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last => {
                self.go(action);
            }
            Action::NextChange | Action::LastChange | Action::NextFile | Action::LastFile => self.jump(action),
            Action::Filter => {
                self.show_all();
                self.mode = write(What::Filter);
            }
            Action::NextPage => {
                let at = PAGES.iter().position(|kind| *kind == self.kind).unwrap_or(0);
                self.has_preview = true;
                self.turn_page(PAGES[(at + 1) % PAGES.len()]);
            }
            Action::In => (self.is_inside, self.has_preview) = (self.row().is_some(), true),
            Action::Out if self.is_inside => self.is_inside = false,
            Action::Out => self.show_all(),
            Action::Preview => (self.has_preview, self.is_inside) = (!self.has_preview, false),
            Action::Oldest => {
                self.show_all();
                match self.oldest() {
                    Some(oldest) => self.turn_to(Some(oldest)),
                    None => self.said = Some("nobody waits for you".into()),
                }
            }
            Action::StartUp if self.is_up(site) => self.said = Some("`up` runs already".into()),
            Action::StartUp => return vec![self.run(site, None, &["worker-ctl", "up", "--detach"], (None, None))],
            Action::New => self.mode = write(What::New),
            _ => return self.on_agent(action),
        }
        Vec::new()
    }

    /// Whether an `up` runs for the agents of this repository.
    fn is_up(&self, site: usize) -> bool {
        self.sites.get(site).and_then(|site| site.floor.as_ref()).is_some_and(|floor| floor.is_up)
    }

    /// Ends the filter, below which no row may be selected.
    fn show_all(&mut self) {
        self.filter.clear();
        self.select(0);
    }

    /// Who has waited longest for a person.
    fn oldest(&self) -> Option<(usize, String)> {
        let needs = |line: &ListLine<'_>| line.row().is_some_and(|row| matches!(row.standing(), Standing::Needs(_)));
        lines(self).into_iter().find(needs).and_then(|line| line.key())
    }

    /// Actions about the selected agent.
    fn on_agent(&mut self, action: Action) -> Vec<Effect> {
        let Some((_, row)) = self.row() else {
            self.without_agent(action);
            return Vec::new();
        };
        if action == Action::Request {
            let address = address(row).map(str::to_owned);
            if address.is_none() {
                let name = shell_word(row.name.as_ref());
                self.said = Some(format!("it has no request; `shopfloor request {name}` makes one"));
            }
            return address.map(Effect::Open).into_iter().collect();
        }
        let (name, is_idle) = (printable(&row.name), row.task.as_deref() == Some("idle"));
        let Some(target) = self.target() else {
            self.without_worker(action);
            return Vec::new();
        };
        if let Some(why) = self.too_low_for(action) {
            self.said = Some(why);
            return Vec::new();
        }
        let write = |what: What| Mode::Write(Draft { what, to: target.clone(), text: String::new() });
        match action {
            Action::Attach => return vec![Effect::Attach(target)],
            Action::Answer(number) => return self.answer(&target, number).into_iter().collect(),
            Action::Review => return vec![self.run_review(&target)],
            Action::Resume if is_idle => self.said = Some(format!("{name} has no task: `s` gives it one")),
            Action::Resume => return vec![self.run_for(&target, "resume", &[], None)],
            Action::Send if is_idle => self.mode = self.task_for(&target),
            Action::Send => self.mode = write(What::Send),
            Action::Land => {
                // What is shown is pinned first, so that nothing else lands.
                self.landing = Some(target.clone());
                let is_begun =
                    |running: &Running| running.verb == "review" && running.about.as_ref() == Some(&target.key);
                if !self.running.iter().any(is_begun) {
                    return vec![self.run_review(&target)];
                }
            }
            Action::Back => match self.shown().map(|page| &page.content) {
                // Exactly those that are shown.
                Some(Content::Diff(review)) if review.unsent() > 0 => {
                    let sent = json!({ "v": 1, "commit": review.commit, "comments": review.comments }).to_string();
                    return vec![self.run_for(&target, "reject", &["--comments", "-"], Some(sent))];
                }
                Some(Content::Diff(_)) => self.mode = write(What::Back),
                Some(Content::Text(why)) if self.kind == PageKind::Diff => self.said = why.first().cloned(),
                _ => {
                    self.has_preview = true;
                    self.turn_page(PageKind::Diff);
                    self.said = Some("`x` once more sends the comments on this diff, or asks for a text".into());
                }
            },
            Action::Comment | Action::Edit | Action::Delete | Action::Restore => {
                return self.comment(action, target).into_iter().collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// A task for the selected agent, by its id where it has one: `shopfloor start` may know several of its name.
    fn task_for(&self, target: &Target) -> Mode {
        let own = self.row().filter(|(_, row)| row.is_own()).map(|(site, row)| beginner(site, row));
        let to = own.unwrap_or_else(|| target.clone());
        Mode::Write(Draft { what: What::Task, to, text: String::new() })
    }

    /// Where no agent was started yet, a task does that.
    fn without_worker(&mut self, action: Action) {
        let Some((site, row)) = self.row() else { return };
        if action == Action::Send {
            self.mode = Mode::Write(Draft { what: What::Task, to: beginner(site, row), text: String::new() });
            return;
        }
        let how = match row.is_own() {
            true => "`s` gives it a task".to_owned(),
            false => format!("`shopfloor adopt {}` makes one of it", shell_word(row.worktree.as_ref())),
        };
        self.said = Some(format!("no agent was started there yet: {how}"));
    }

    /// Why a window is too low for an action: nobody agrees to what is not shown.
    fn too_low_for(&self, action: Action) -> Option<String> {
        let (what, verb) = match action {
            Action::Review | Action::Land => ("the work", "review"),
            Action::Answer(_) => ("the question", "answer"),
            _ => return None,
        };
        let (_, row) = self.row().filter(|_| self.size.1 < LOW)?;
        let name = shell_word(row.name.as_ref());
        Some(format!(
            "this window is too low to show {what}\nhint: make it {LOW} rows high, or use `shopfloor {verb} {name}`"
        ))
    }

    /// On the line of the idle ones, Enter shows them.
    fn without_agent(&mut self, action: Action) {
        let is_any = self.sites.iter().flat_map(|site| &site.rows).any(Row::is_on_board);
        let is_filtered = !self.filter.is_empty() && lines(self).iter().all(|line| line.row().is_none());
        let why = match () {
            () if !is_any => Some(self.nobody()),
            () if is_filtered => Some("no agent has this word: Esc shows all"),
            () if action != Action::Attach => Some("select an agent first: Enter shows the idle ones"),
            () => None,
        };
        if let Some(why) = why {
            self.said = Some(why.into());
            self.deaf = (action != Action::Attach).then_some(self.now);
            return;
        }
        self.shows_idle = !self.shows_idle;
        let is_idle = |line: &ListLine<'_>| line.row().is_some_and(|row| row.standing() == Standing::Idle);
        let first = lines(self).into_iter().find(is_idle).and_then(|line| line.key());
        self.turn_to(first.or(self.selected.clone()));
    }

    /// A command of worker-ctl for an agent.
    fn run_for(&mut self, target: &Target, verb: &str, more: &[&str], input: Option<String>) -> Effect {
        let words = [&["worker-ctl", verb, &target.worker][..], more].concat();
        self.run(target.site, Some(target.key.clone()), &words, (input, None))
    }

    /// A review, which is noted as one if the desk shows all of the diff.
    fn run_review(&mut self, target: &Target) -> Effect {
        self.run_for(target, "review", &["--pin-up-to", &MOST_DIFF.to_string()], None)
    }

    /// A command, which its row shows until it has ended.
    pub(super) fn run(
        &mut self,
        site: usize,
        about: Option<String>,
        words: &[&str],
        (input, draft): (Option<String>, Option<Draft>),
    ) -> Effect {
        self.running.push(Running { about: about.clone(), verb: words[1].to_owned(), draft });
        Effect::Run { site, about, words: words.iter().map(|word| (*word).to_owned()).collect(), input }
    }

    /// The answer to the menu that is drawn, once: the next look at the screen brings it back if it is still there.
    fn answer(&mut self, target: &Target, number: usize) -> Option<Effect> {
        let Some(menu) = self.menu().cloned() else {
            self.has_preview = true;
            self.turn_page(PageKind::Terminal);
            self.said = Some("no menu is on the screen of its terminal; Enter attaches".into());
            return None;
        };
        let has =
            |line: &String| [format!("{number}."), format!("{number})")].iter().any(|mark| line.starts_with(mark));
        if !menu.lines.iter().any(has) {
            self.said = Some(format!("the menu has no line {number}"));
            return None;
        }
        if let Some(Page { content: Content::Screen(_, drawn), .. }) = &mut self.page {
            *drawn = None;
        }
        Some(self.run_for(target, "answer", &[&number.to_string(), "--menu", &menu.id], None))
    }

    /// A command has ended.
    pub fn end(&mut self, ended: &Ended) {
        let Ended { words, about, answer } = ended;
        let verb = words.get(1).map(String::as_str).unwrap_or_default();
        let at = self.running.iter().position(|running| running.about == *about && running.verb == verb);
        let draft = at.and_then(|at| self.running.remove(at).draft);
        let name = words.get(2).map(|name| printable(name)).unwrap_or_default();
        self.changes += u64::from(["answer", "comment", "reject"].contains(&verb));
        let is_landing =
            verb == "review" && self.landing.as_ref().is_some_and(|target| Some(&target.key) == about.as_ref());
        let landing = if is_landing { self.landing.take() } else { None };
        let is_deleted = words.iter().any(|word| word == "--delete");
        let refused = match answer {
            Ok(answer) if answer.status.success() => None,
            Ok(answer) => Some(refusal(answer)),
            Err(failure) => Some(failure.to_string()),
        };
        if refused.is_some() {
            self.said = refused;
            if let Some(draft) = draft.filter(|_| !is_deleted && self.mode == Mode::Browse) {
                self.mode = Mode::Write(draft);
            }
            return;
        }
        let record = answer.as_ref().ok().and_then(|answer| answer.records.first()).unwrap_or(&Value::Null);
        if verb == "comment" {
            // What was taken back is deleted no more.
            self.deleted =
                if is_deleted { draft } else { self.deleted.take().filter(|deleted| Some(deleted) != draft.as_ref()) };
        }
        match verb {
            "review" => self.reviewed(about.as_ref(), record, landing),
            "accept" | "reject" => self.settled(about.as_ref()),
            _ => {}
        }
        let said = answer.as_ref().map(|answer| answer.said.as_str()).unwrap_or_default();
        let done = match verb {
            "message" => format!("sent to {name}"),
            "reject" => format!("{name} goes on with what you said"),
            "accept" => format!("landed the work of {name}"),
            "answer" => format!("answered {name}"),
            // Nothing may have been sent, or not yet.
            "resume" => {
                let mut told = said.lines().rev().filter_map(|line| Some(line.split_once(": ")?.1));
                told.find(|told| told.starts_with(&name)).map_or_else(|| format!("{name} is up"), str::to_owned)
            }
            "start" => format!("{name} has the task"),
            "comment" if is_deleted => "the comment is deleted: `u` takes that back".to_owned(),
            "new" => {
                let warning = said.lines().find(|line| line.contains("warning: "));
                warning.map_or_else(|| format!("made {name}"), str::to_owned)
            }
            _ => return,
        };
        self.said = Some(done);
    }

    fn is_selected(&self, about: Option<&String>) -> bool {
        self.selected.as_ref().is_some_and(|(_, selected)| Some(selected) == about)
    }

    /// A review has come: it is gone into, if its agent is still the selected one, and its work may land.
    fn reviewed(&mut self, about: Option<&String>, record: &Value, landing: Option<Target>) {
        let Some(about) = about.filter(|about| self.is_selected(Some(about))) else { return };
        (self.has_preview, self.is_inside) = (true, true);
        self.turn_page(PageKind::Diff);
        let review = Box::new(review(record));
        let is_cut = review.is_cut;
        self.set_page(Page { key: about.clone(), kind: PageKind::Diff, content: Content::Diff(review) });
        if is_cut {
            let name = self.row().map(|(_, row)| shell_word(row.name.as_ref())).unwrap_or_default();
            self.said = Some(format!(
                "the diff is longer than the desk shows, so it does not count as seen\n\
                 hint: see all of it with `shopfloor review {name} --pin`, then `shopfloor land {name}`"
            ));
        } else if let Some(target) = landing.filter(|_| self.mode == Mode::Browse && self.pending.is_none()) {
            let message = record["message"].as_str().and_then(|message| message.lines().next());
            self.mode = Mode::Land(target, printable(message.unwrap_or_default()));
        }
    }

    /// Work has landed or was sent back, so nobody waits there any more, before the tools have said so.
    fn settled(&mut self, about: Option<&String>) {
        let rows = self.sites.iter().flat_map(|site| &site.rows).filter(|row| Some(&key(row)) == about);
        self.settled.extend(rows.map(|row| (key(row), state(row))));
        let mut sites = std::mem::take(&mut self.sites);
        sites.iter_mut().for_each(|site| self.calm(&mut site.rows));
        self.sites = sites;
        self.is_inside &= !self.is_selected(about);
    }

    fn turn_page(&mut self, kind: PageKind) {
        if self.kind != kind {
            (self.kind, self.at) = (kind, 0);
            self.leave_page();
        }
    }

    /// Several keys can come at once, and the page that is left first is wanted again after the last one.
    fn leave_page(&mut self) {
        self.page = None;
        self.changes += 1;
    }
}

/// What a landing, and a review that asks for changes, changes.
fn state(row: &Row) -> [Value; 2] {
    ["commit", "task"].map(|key| row.record[key].clone())
}
