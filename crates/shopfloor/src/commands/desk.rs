//! `desk`: one screen for the day.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crossterm::event::{self, Event, MouseButton, MouseEvent, MouseEventKind};
use crossterm::terminal;
use rustix::event::Timespec;
use shopfloor_core::args::{Color, Common};
use shopfloor_core::editor;
use shopfloor_core::env::{Env, FRONT};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::desk_feed::{self, Ended, News, Page, PageKind, Wanted};
use crate::facts::run_tool::command;
use crate::facts::{overview, repository};
use crate::plan::desk::frame::{frame, places};
use crate::plan::desk::{Desk, Draft, Effect, Mode, SiteView, Target};
use crate::screen::{self, Screen};

/// How long the keyboard is waited for before it is looked for news.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The signal of a terminal that is closed.
const HANGUP: i32 = 1;

/// Show all agents on one screen, who waits for you first, and review, answer and land from there
///
/// Each key runs a command that you could type, which stands at the bottom right; `?` shows the keys. Leaving the desk ends
/// no agent.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor desk\n  shopfloor desk --print 120x40 --page diff")]
pub struct Args {
    /// Show the agents of all roots on your list, a group for each repository
    #[arg(long)]
    pub all_roots: bool,
    /// Print one frame of this size, and end [default: the size of the terminal, else 80x24]
    #[arg(long, value_name = "COLSxROWS")]
    pub print: Option<Option<String>>,
    /// Ask the forge about requests once a minute, by your own `gh` or `glab`
    #[arg(long)]
    pub requests: bool,
    /// The page of the lower half
    #[arg(long, value_enum, default_value = "terminal")]
    pub page: PageKind,
}

pub fn run(ui: &Ui, env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    if ui.is_json() {
        return Err(Failure::usage("the desk is for people, so it has no JSON").hint("use `shopfloor status --json`"));
    }
    let sites = match args.all_roots {
        true => desk_feed::all_sites(env)?,
        false => vec![repository::near(env)?],
    };
    if sites.is_empty() {
        return Err(Failure::new(Exit::Bad, "not_initialised", "no root is on your list")
            .hint("`shopfloor setup` prepares a repository"));
    }
    if ui.is_dry() && args.print.is_none() {
        return Err(
            Failure::usage("the desk does nothing by itself, so it has no dry run").hint("leave out `--dry-run`")
        );
    }
    let name = |site: &Env| site.cwd.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let views = sites.iter().map(|site| SiteView { name: name(site), ..SiteView::default() }).collect();
    let desk = Desk { sites: views, kind: args.page, has_preview: true, now: env.later().now, ..Desk::default() };
    if let Some(size) = &args.print {
        return print(ui, env, common, (desk, &sites), size.as_deref());
    }
    if !ui.can_ask() || !env.stdout_is_terminal {
        return Err(Failure::usage("the desk needs a terminal")
            .hint("print one frame with `shopfloor desk --print`, or use `shopfloor status`"));
    }
    let (news, heard) = mpsc::channel();
    let (signals, ends) = (news.clone(), news.clone());
    proc::handle_signals(move |signal| signals.send(News::Over(signal)).is_ok());
    proc::start_thread(move || screen::wait_for_end().map(|()| ends.send(News::Over(HANGUP))))?;
    if args.requests {
        let sites = sites.clone();
        proc::start_thread(move || desk_feed::ask_forge(&sites))?;
    }
    for (at, site) in sites.iter().cloned().enumerate() {
        let news = news.clone();
        proc::start_thread(move || desk_feed::watch(at, &site, &news))?;
    }
    let (wanted, asked) = mpsc::channel();
    let (pages, of) = (news.clone(), sites.clone());
    proc::start_thread(move || desk_feed::read_pages(&of, &asked, &pages))?;
    let screen = Screen::enter(ui.has_colors()).map_err(unusable)?;
    let mut open = Open { desk, sites, screen, news, wanted, last: None, running: Vec::new() };
    let served = open.serve(&heard);
    let Open { screen, running, mut desk, .. } = open;
    drop(screen);
    // What was begun is done, and what was refused is said.
    running.into_iter().for_each(|running| drop(running.join()));
    let signal = served?;
    let refused = tell_refused(ui, &mut desk, &heard);
    if refused > 0 && signal == 0 {
        return Ok(Exit::No);
    }
    Ok(if signal == 0 { Exit::Done } else { Exit::Signal(u8::try_from(signal).unwrap_or(0)) })
}

/// Says which commands were refused while the desk was left, with the texts that went with them. Returns how many.
fn tell_refused(ui: &Ui, desk: &mut Desk, heard: &Receiver<News>) -> usize {
    let ended = heard.try_iter().filter_map(|news| if let News::Ended(ended) = news { Some(ended) } else { None });
    let refused = ended.filter(|ended| !ended.answer.as_ref().is_ok_and(|answer| answer.status.success()));
    let mut count = 0;
    for ended in refused {
        desk.mode = Mode::Browse;
        desk.end(&ended);
        let text =
            if let Mode::Write(draft) = &desk.mode { format!("; the text was: {}", draft.text) } else { String::new() };
        ui.warn(format!("{}{}", printable(&desk.said.take().unwrap_or_default()), printable(&text)));
        count += 1;
    }
    count
}

fn unusable(error: std::io::Error) -> Failure {
    Failure::failed("the terminal cannot be used").because(error)
}

/// Prints one frame.
fn print(ui: &Ui, env: &Env, common: &Common, (mut desk, sites): (Desk, &[Env]), size: Option<&str>) -> Result<Exit> {
    let size = match size {
        None => ui.size().map_or((80, 24), |(width, height)| (whole(width), whole(height))),
        Some(size) => {
            size.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?))).ok_or_else(|| {
                Failure::usage(format!("`{size}` is no size"))
                    .hint("give columns and rows: `--print 120x40`, up to 999x999")
            })?
        }
    };
    let kind = desk.kind;
    for (at, site) in sites.iter().enumerate() {
        let name = desk.sites[at].name.clone();
        desk.set_site(at, SiteView::new(name, desk_feed::commit(site), &overview::read(site)));
    }
    // Also where the first one asks.
    desk.kind = kind;
    if let Some(page) = desk.wanted() {
        let content = desk_feed::content(&sites[page.site], &page);
        let Wanted { key, kind, .. } = page;
        desk.set_page(Page { key, kind, content });
    }
    (desk.now, desk.size) = (env.later().now, size);
    let has_colors = matches!(common.color, Color::Always);
    screen::text(&frame(&desk, size).0, has_colors).iter().for_each(|line| ui.line(line));
    Ok(Exit::Done)
}

fn whole(size: usize) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

fn side(text: &str) -> Option<u16> {
    text.parse().ok().filter(|side| (1..=999).contains(side))
}

/// The desk on a terminal.
struct Open {
    desk: Desk,
    sites: Vec<Env>,
    screen: Screen,
    news: Sender<News>,
    wanted: Sender<Option<Wanted>>,
    last: Option<Wanted>,
    /// The commands that were begun.
    running: Vec<JoinHandle<()>>,
}

impl Open {
    /// Draws what is new until the end. Returns the signal that asked for it, or 0.
    fn serve(&mut self, heard: &Receiver<News>) -> Result<i32> {
        let mut drawn = None;
        loop {
            let size = terminal::size().unwrap_or((80, 24));
            (self.desk.now, self.desk.size) = (self.sites[0].later().now, size);
            // Ages change each second.
            let now = self.desk.now.as_second();
            if drawn != Some((now, size)) {
                let (buffer, cursor) = frame(&self.desk, size);
                self.screen.draw(buffer, cursor).map_err(unusable)?;
                drawn = Some((now, size));
            }
            self.ask_for_page();
            screen::wait(WAIT);
            let mut effects = Vec::new();
            while let (true, Ok(true)) = (effects.is_empty(), event::poll(Duration::ZERO)) {
                let Ok(event) = event::read() else { return Ok(HANGUP) };
                effects.extend(self.input(&event, size.1));
                drawn = None;
            }
            for effect in effects {
                if effect == Effect::Quit {
                    return Ok(0);
                }
                self.carry_out(effect)?;
            }
            for news in heard.try_iter() {
                drawn = None;
                match news {
                    News::Over(signal) => return Ok(signal),
                    News::Overview(site, overview, head) => {
                        let name = self.desk.sites[site].name.clone();
                        self.desk.set_site(site, SiteView::new(name, head, &overview));
                    }
                    News::Page(page) => {
                        let is_its = |last: &Wanted| last.key == page.key && last.kind == page.kind;
                        if self.last.as_ref().is_some_and(is_its) {
                            self.desk.set_page(*page);
                        }
                    }
                    News::Ended(ended) => self.desk.end(&ended),
                }
            }
        }
    }

    fn input(&mut self, event: &Event, height: u16) -> Vec<Effect> {
        let Event::Mouse(MouseEvent { kind, row, .. }) = *event else { return self.desk.input(event) };
        let at = places(&self.desk, height);
        match kind {
            MouseEventKind::Down(MouseButton::Left) if (at.list.0..at.list.1).contains(&row) => {
                self.desk.click(at.first + usize::from(row - at.list.0));
            }
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown if (at.page.0..at.page.1).contains(&row) => {
                self.desk.wheel(kind == MouseEventKind::ScrollUp);
            }
            _ => {}
        }
        Vec::new()
    }

    /// Asks for the page of the selected agent, if it is another one than before.
    fn ask_for_page(&mut self) {
        let wanted = self.desk.wanted();
        if wanted != self.last {
            self.last.clone_from(&wanted);
            let _ = self.wanted.send(wanted);
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Result<()> {
        match effect {
            Effect::Run { site, about, words, input } => {
                let (env, news) = (self.sites[site].clone(), self.news.clone());
                self.running.retain(|running| !running.is_finished());
                let refused = (words.clone(), about.clone());
                let begun = proc::start_thread(move || {
                    let answer = desk_feed::run(&env, &words, input);
                    let _ = news.send(News::Ended(Box::new(Ended { words, about, answer })));
                });
                match begun {
                    Ok(running) => self.running.push(running),
                    Err(failure) => {
                        let (words, about) = refused;
                        let _ = self.news.send(News::Ended(Box::new(Ended { words, about, answer: Err(failure) })));
                    }
                }
            }
            Effect::Attach(Target { site, worker, .. }) => {
                let words = ["worker-ctl", "attach", &worker].map(str::to_owned);
                let cmd = command(&self.sites[site], &words).map(|cmd| cmd.var(FRONT, "1"));
                let attached = self.screen.lend(|| cmd.and_then(proc::Cmd::foreground)).map_err(unusable)?;
                self.desk.said = match attached {
                    Ok(status) if status.success() => None,
                    Ok(status) => Some(format!("attach ended with {status}: {worker} may not run")),
                    Err(failure) => Some(failure.to_string()),
                };
            }
            Effect::Edit(draft) => {
                let env = self.sites[draft.to.site].clone();
                match self.screen.lend(|| editor::edit(&env, &draft.text)).map_err(unusable)? {
                    Ok(text) => {
                        let effect = self.desk.written(Draft { text: text.trim_end().to_owned(), ..draft });
                        effect.map_or(Ok(()), |effect| self.carry_out(effect))?;
                    }
                    Err(failure) => self.desk.said = Some(failure.to_string()),
                }
            }
            Effect::Open(address) => {
                let env = &self.sites[0];
                let is_page = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
                let opener = ["xdg-open", "open"].iter().find_map(|name| proc::find(env, name));
                if let Some(opener) = opener.filter(|_| is_page) {
                    let cmd = proc::Cmd::new(&opener, env).arg(&address);
                    // The address is shown all the same.
                    let _ = proc::start_thread(move || cmd.capture());
                }
                self.desk.said = Some(address);
            }
            Effect::Suspend => self.screen.lend(proc::stop_by_terminal).map_err(unusable)?,
            Effect::Quit => {}
        }
        Ok(())
    }
}
