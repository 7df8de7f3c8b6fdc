//! The command line: flags all tools share, and the way from `main` to the exit code.

use std::ffi::{OsStr, OsString};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches, Parser, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::config::{Setting, SettingFlag, SettingType, Users, expand_home};
use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::git_hook;
use crate::proc;
use crate::time::{self, Unit};
use crate::ui::{Options, Ui};

/// The exit codes, for the end of every `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done, or nothing to do
  1    the answer is \"no\" (drift, not found, not in the state the command needs)
  2    bad usage, configuration or input; nothing was changed
  3    a person must decide first (approval, confirmation)
  4    git, a child command or the disk failed
  75   another process holds the lock; try again
  124  a --timeout ran out
  128+n  ended by signal n";

/// The variable with which a shell asks for completions.
pub const COMPLETE: &str = "SHOPFLOOR_COMPLETE";

/// Flags every tool takes, before or after the subcommand.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Run as if started in DIR; a second one starts from the first
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Common options")]
    pub dirs: Vec<OsString>,
    /// Show what would be done and change nothing
    #[arg(short = 'n', long, global = true, help_heading = "Common options")]
    pub dry_run: bool,
    /// Answer in JSON: one document, or JSON Lines for lists
    #[arg(long, global = true, help_heading = "Common options")]
    pub json: bool,
    /// Leave notices out; warnings and errors stay
    #[arg(short, long, global = true, help_heading = "Common options")]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true, help_heading = "Common options")]
    pub verbose: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = "Common options")]
    pub color: Color,
}

/// When to use colours; `NO_COLOR` and `TERM=dumb` count as `never` under `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The settings of a tool that are flags of all its commands.
pub trait SettingTable {
    /// The settings, in the order in which the help lists their flags.
    const SETTINGS: &'static [&'static [Setting]];
    /// The heading of their flags in the help.
    const HEADING: &'static str;
    /// Whether `-h` leaves them out.
    const IS_LONG_HELP: bool = false;
}

/// The flags of a tool's settings, made from its table, so that each setting is told once.
#[derive(Clone, Debug, Default)]
pub struct SettingFlags<T> {
    given: Vec<(&'static str, PathBuf)>,
    table: PhantomData<T>,
}

impl<T: SettingTable> SettingFlags<T> {
    /// What the command line gives for a setting.
    pub fn value(&self, name: &str) -> Option<&Path> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_path())
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// The same flags but for one.
    pub fn without(&self, name: &str) -> SettingFlags<T> {
        let given = self.given.iter().filter(|(given, _)| *given != name).cloned().collect();
        SettingFlags { given, table: PhantomData }
    }

    /// The subcommands that use each of the flags.
    pub fn uses() -> Vec<FlagUse> {
        flags_of(T::SETTINGS).map(|(name, flag)| (name, flag.users)).collect()
    }

    /// All that the command line gives, for [`crate::config::load`].
    pub fn all(&self) -> Vec<(&'static str, Option<&Path>)> {
        self.given.iter().map(|(name, value)| (*name, Some(value.as_path()))).collect()
    }
}

impl<T: SettingTable> Args for SettingFlags<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        let all = T::SETTINGS.iter().flat_map(|settings| settings.iter());
        all.filter_map(|setting| Some((setting, setting.flag?))).fold(command, |command, (setting, flag)| {
            let Setting { name, variable, default, .. } = setting;
            let mut help = format!("{} [env: {variable}]", flag.help);
            if !default.is_empty() {
                help = format!("{help} [default: {default}]");
            }
            let arg = clap::Arg::new(*name).long(name.replace('_', "-")).value_name(flag.value_name).help(help);
            let arg = arg.global(true).help_heading(T::HEADING).hide_short_help(T::IS_LONG_HELP);
            command.arg(match setting.kind {
                SettingType::Choice(words) => arg.value_parser(PossibleValuesParser::new(words)),
                // A list may be empty.
                SettingType::List => arg.value_parser(clap::value_parser!(OsString)),
                // This parser refuses an empty value.
                _ => arg.value_parser(clap::value_parser!(PathBuf)),
            })
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<T: SettingTable> FromArgMatches for SettingFlags<T> {
    fn from_arg_matches(matches: &clap::ArgMatches) -> std::result::Result<Self, clap::Error> {
        let raw = |name: &'static str| Some((name, matches.get_raw(name)?.next_back()?.into()));
        let given = flags_of(T::SETTINGS).filter_map(|(name, _)| raw(name)).collect();
        Ok(SettingFlags { given, table: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A global flag's id, and the subcommands that use it.
pub type FlagUse = (&'static str, Users);

/// The settings that have a flag, by name.
fn flags_of(tables: &'static [&'static [Setting]]) -> impl Iterator<Item = (&'static str, SettingFlag)> {
    tables.iter().flat_map(|settings| settings.iter()).filter_map(|setting| Some((setting.name, setting.flag?)))
}

/// A tool's command line.
pub trait CommandLine: Parser {
    /// The flags it shares with the other tools.
    fn common(&self) -> &Common;

    /// The global flags that only some subcommands use, each with these. The help of the others does not list it.
    fn uses() -> Vec<FlagUse> {
        Vec::new()
    }

    /// The arguments whose values a shell can complete: the names of their subcommands (none: all), the argument's id,
    /// and what lists the values.
    fn completed() -> &'static [CompletedArgument] {
        &[]
    }

    /// Words that people type for a subcommand from habit with other programs, each with the subcommand they mean.
    fn slips() -> &'static [(&'static [&'static str], &'static str)] {
        &[]
    }

    /// The arguments of the process in the order in which they are parsed.
    fn arranged(args: &[OsString]) -> Vec<OsString> {
        args.to_vec()
    }

    /// The exit code of every failure, which is a notice then, where a program calls the command to which other codes mean
    /// something else.
    fn exit_of_failure(_args: &[OsString]) -> Option<Exit> {
        None
    }

    /// Whether the command finds what it needs though the current directory is gone. Then it is run from `/`.
    fn needs_no_directory(&self, _env: &Env) -> bool {
        false
    }
}

/// An argument whose values a shell can complete. What lists them gets the line up to the word as [`Env::args`].
pub type CompletedArgument = (&'static [&'static str], &'static str, fn(&Env) -> Result<Vec<String>>);

/// A tool's command line as clap knows it. A subcommand takes every global flag, but its help lists only those that it
/// uses.
pub fn command<C: CommandLine>() -> clap::Command {
    let command = C::command();
    let hidden = |id: &str| command.get_arguments().find(|arg| arg.get_id() == id).map(|arg| arg.clone().hide(true));
    let flags: Vec<_> = C::uses().into_iter().filter_map(|(id, users)| Some((hidden(id)?, users))).collect();
    // One pass: each change of one subcommand alone moves all that stand behind it. clap does not pass a global flag on to
    // a subcommand that has one of this id.
    name_examples(command.mut_subcommands(|sub| {
        let name = sub.get_name().to_owned();
        let has_one =
            |sub: &clap::Command, flag: &clap::Arg| sub.get_arguments().any(|arg| arg.get_id() == flag.get_id());
        let unused = flags.iter().filter(|(flag, users)| !users.include(&name) && !has_one(&sub, flag));
        let unused: Vec<_> = unused.map(|(flag, _)| flag.clone()).collect();
        // Of what is below `hook`, only `run` does what the tool is for.
        sub.args(unused).mut_subcommands(|sub| match name != "hook" || sub.get_name() == "run" {
            true => sub,
            false => sub.args(flags.iter().map(|(flag, _)| flag.clone())),
        })
    }))
}

/// The same for completions. A word that does not begin with a dash is completed with options and aliases only where
/// there is nothing else: clap_complete offers what is hidden only then.
fn completed_command<C: CommandLine>() -> clap::Command {
    fn hide_options(command: clap::Command) -> clap::Command {
        let command = command.disable_help_flag(true).disable_version_flag(true);
        command.mut_args(|arg| if arg.is_positional() { arg } else { arg.hide(true) }).mut_subcommands(hide_options)
    }
    // The words stand after `--`. Shells tell which one is completed; without that it is the last.
    let mut words: Vec<OsString> = std::env::args_os().skip_while(|arg| arg != "--").skip(1).collect();
    let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse::<usize>().ok());
    words.resize(index.map_or(words.len(), |index| index + 1), OsString::new());
    let is_option = words.last().is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    let with_values = |arg: clap::Arg, is_of: &dyn Fn(&[&str]) -> bool| {
        let is_it = |(users, id, _): &&CompletedArgument| arg.get_id() == *id && is_of(users);
        match C::completed().iter().find(is_it) {
            Some((_, _, list)) => {
                let line = words.clone();
                arg.add(ArgValueCandidates::new(move || candidates(*list, &line)))
            }
            None => arg,
        }
    };
    // What is global gets to the subcommands that use it.
    let completed = command::<C>().mut_args(|arg| with_values(arg, &|_| true)).mut_subcommands(|sub| {
        let name = sub.get_name().to_owned();
        let aliases: Vec<String> = sub.get_all_aliases().map(str::to_owned).collect();
        let sub = sub.visible_alias(None::<&'static str>).aliases(aliases);
        sub.mut_args(|arg| with_values(arg, &|users| users.is_empty() || users.contains(&name.as_str())))
    });
    if is_option { completed } else { hide_options(completed) }
}

/// The values that a tool lists here, but for those on the line; none where it cannot, because a shell shows no errors.
fn candidates(list: fn(&Env) -> Result<Vec<String>>, line: &[OsString]) -> Vec<CompletionCandidate> {
    let env = Env { args: line.to_vec(), ..Env::from_process().0 };
    // The words are as they were typed.
    let mut dirs = line.windows(2).filter(|pair| pair[0] == "-C").map(|pair| &pair[1]);
    let there = dirs.try_fold(env, |env, dir| env.at(&expand_home(&env, dir)));
    let values = there.and_then(|env| list(&env)).unwrap_or_default();
    // A shell puts them on a person's line as they are, and agents choose some of them.
    let is_plain = |value: &str| value.chars().all(|c| c.is_alphanumeric() || "._-/@+:=,".contains(c));
    let is_new = |value: &String| is_plain(value) && !line.iter().rev().skip(1).any(|word| word == value.as_str());
    values.into_iter().filter(is_new).map(CompletionCandidate::new).collect()
}

/// Whether a word is a text though it begins with a dash, as an item of a list does. Other words that do are options.
pub fn is_dashed_text(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.starts_with(b"-") && !bytes.starts_with(b"--") && bytes.iter().any(u8::is_ascii_whitespace)
}

/// The same where no text begins with a dash: an option that is mistyped is none.
fn without_dashed_texts(command: clap::Command) -> clap::Command {
    let is_text = |arg: &clap::Arg| arg.is_positional() && !arg.is_trailing_var_arg_set();
    let command = command.mut_args(|arg| if is_text(&arg) { arg.allow_hyphen_values(false) } else { arg });
    command.mut_subcommands(without_dashed_texts)
}

/// Puts the tool's name, and that of its first hook, into the examples that several tools share.
fn name_examples(mut command: clap::Command) -> clap::Command {
    let tool = command.get_name().to_owned();
    for sub in command.get_subcommands_mut().flat_map(clap::Command::get_subcommands_mut) {
        if let Some(example) = sub.get_after_help().map(ToString::to_string).filter(|text| text.contains("{tool}")) {
            let hook = git_hook::of(&tool).next().unwrap_or_default();
            *sub = sub.clone().after_help(example.replace("{tool}", &tool).replace("{hook}", hook));
        }
    }
    command
}

/// The `main` of every tool: reads the process, parses, runs, reports, and returns the exit code.
pub fn main<C: CommandLine>(tool: &'static str, run: impl FnOnce(&Ui, &Env, C) -> Result<Exit>) -> ExitCode {
    crate::sys::wait_for_children();
    // A shell that completes a command line calls us with this variable; then this line does not return.
    CompleteEnv::with_factory(completed_command::<C>).var(COMPLETE).bin(tool).completer(tool).complete();
    // Neither we nor git can make anything in a directory from which the umask has taken its owner's rights.
    umask(umask(Mode::empty()).difference(Mode::RWXU));
    let (mut env, problem) = Env::from_process();
    env.args = C::arranged(&env.args);
    let early = Ui::new(tool, &env, Options { json: asks_for_json(&env), ..Options::default() });
    let of_failure = C::exit_of_failure(&env.args);
    let report = |ui: &Ui, failure: Failure| {
        if let Some(exit) = of_failure {
            ui.problem(&failure);
            return exit;
        }
        ui.error(&failure);
        failure.exit
    };
    let exit = match parse::<C>(tool, &early, &env) {
        Err(failure) => failure.or_else(|| early.unwritten()).map_or(Exit::Done, |failure| report(&early, failure)),
        Ok(cli) => {
            let common = cli.common().clone();
            let first = common.dirs.iter().find(|dir| !dir.is_empty());
            let needs_none = cli.needs_no_directory(&env) || first.is_some_and(|dir| Path::new(dir).is_absolute());
            let is_met = |failure: &Failure| failure.kind != "no_directory" || !needs_none;
            if let Some(failure) = problem.filter(is_met) {
                return ExitCode::from(report(&early, failure).code());
            }
            let ui = Ui::new(tool, &env, options(&env, &common));
            env.is_dry = common.dry_run;
            let there = common.dirs.iter().try_fold(env, |env, dir| env.at(Path::new(dir)));
            match (there.and_then(|env| run(&ui, &env, cli)), ui.unwritten()) {
                (Ok(Exit::Done | Exit::No), Some(failure)) => {
                    report(&ui, failure.details(["only that is lost: what there was to do is done".to_owned()]))
                }
                (done, _) => done.unwrap_or_else(|failure| report(&ui, failure)),
            }
        }
    };
    ExitCode::from(exit.code())
}

fn asks_for_json(env: &Env) -> bool {
    env.args.iter().take_while(|a| *a != "--").any(|a| a == "--json")
}

fn options(env: &Env, common: &Common) -> Options {
    let color = match common.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => env.shows_colors(env.stderr_is_terminal),
    };
    Options { json: common.json, dry_run: common.dry_run, quiet: common.quiet, verbose: common.verbose, color }
}

/// Parses the command line. `--help` and `--version` are answered here and are no failure.
fn parse<C: CommandLine>(tool: &'static str, ui: &Ui, env: &Env) -> Result<C, Option<Failure>> {
    let is_dashed = env.args.iter().take_while(|word| *word != "--").any(|word| is_dashed_text(word));
    let command_line = if is_dashed { command::<C>() } else { without_dashed_texts(command::<C>()) };
    let parsed = command_line.try_get_matches_from(&env.args).and_then(|matches| C::from_arg_matches(&matches));
    let error = match parsed {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // clap answers before it has read all flags.
        let words: Vec<&str> = env.args.iter().map_while(|word| word.to_str().filter(|word| *word != "--")).collect();
        let is_said = |when: &str| words.windows(2).any(|two| two.join("=") == when) || words.contains(&when);
        let is_never = is_said("--color=never");
        let styled = is_said("--color=always") || env.shows_colors(env.stdout_is_terminal) && !is_never;
        let mut text = error.render();
        if let Some(origin) = proc::origin().filter(|_| error.kind() == ErrorKind::DisplayVersion) {
            text = format!("{} ({origin})\n", text.to_string().trim_end()).into();
        }
        ui.answer(if styled { text.ansi().to_string() } else { text.to_string() }.as_bytes());
        return Err(None);
    }
    let rendered = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
        _ => error.render().to_string(),
    };
    let is_subcommand = error.kind() == ErrorKind::InvalidSubcommand;
    // clap takes words for similar that mean the contrary, and an option that does not exist for a value.
    let is_kept = |line: &&str| {
        let is_tip = line.trim_start().starts_with("tip:");
        !line.is_empty()
            && !line.starts_with("For more information")
            && !(is_tip && (is_subcommand || line.ends_with('\'') && line.contains("as a value")))
    };
    let mut lines = rendered.lines().map(str::trim_end).filter(is_kept);
    let message = lines.next().unwrap_or("bad usage").trim_start_matches("error: ").to_owned();
    let tip = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if is_subcommand => meant::<C>(word),
        _ => None,
    };
    let named = subcommands_of(&command::<C>(), &env.args);
    let failure = Failure::usage(message)
        .details(tip.map(|word| format!("tip: did you mean `{word}`?")))
        .details(lines.map(|l| l.trim_start().to_owned()))
        .hint(format!("run `{tool}{named} --help` to see what it takes"));
    Err(Some(failure))
}

/// The subcommand that somebody means by a word: by habit with other programs, or with a slip of the fingers.
fn meant<C: CommandLine>(word: &str) -> Option<String> {
    let slip = C::slips().iter().find(|(words, _)| words.contains(&word)).map(|(_, meant)| (*meant).to_owned());
    let command = C::command();
    let near = || {
        let names = command.get_subcommands().map(|sub| (strsim::osa_distance(word, sub.get_name()), sub.get_name()));
        let (_, name) = names.filter(|(distance, _)| *distance <= word.len().div_ceil(4)).min()?;
        Some(name.to_owned())
    };
    slip.or_else(near)
}

/// The words of a command line before `--` that are neither options nor the values of these options.
pub fn plain_words<'a>(line: &'a [OsString], valued: &[&str]) -> Vec<&'a OsString> {
    let mut words = line.iter().skip(1).take_while(|word| *word != "--");
    let mut plain = Vec::new();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some(flag) if valued.contains(&flag) => drop(words.next()),
            Some(flag) if flag.starts_with('-') => {}
            _ => plain.push(word),
        }
    }
    plain
}

/// The subcommands that a command line names, each after a blank. A word that is none ends them.
fn subcommands_of(command: &clap::Command, args: &[OsString]) -> String {
    let (top, mut command, mut named) = (command, command, String::new());
    let mut words = args.iter().skip(1).filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let takes_value = |arg: &clap::Arg| {
            let long = arg.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            let short = arg.get_short().is_some_and(|short| word.strip_prefix('-') == Some(short.to_string().as_str()));
            (long || short) && arg.get_action().takes_values()
        };
        if command.get_arguments().chain(top.get_arguments()).any(takes_value) {
            words.next();
        } else if !word.starts_with('-') {
            let Some(sub) = command.find_subcommand(word) else { break };
            named = format!("{named} {}", sub.get_name());
            command = sub;
        }
    }
    named
}

/// The length of time in a flag; a number alone means seconds. Exit 2 for anything else.
pub fn flag_duration(flag: &str, text: &str) -> Result<Duration> {
    time::parse_duration(text, Unit::Seconds)
        .ok_or_else(|| Failure::usage(format!("{flag} must be a length of time, not `{text}`")).hint(time::DURATIONS))
}
