//! `cargo xtask demo`: the main job, end to end, in a temporary directory.

use std::ffi::OsString;
use std::fmt::Write;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run::{self, Missing, build, cargo, find, isolated};

#[derive(clap::Args)]
pub struct Args {
    /// Run this agent (a line for `sh`) in the workers instead of the scripted one; it must not need a person
    #[arg(long, value_name = "CMD")]
    agent: Option<String>,
    /// Keep the temporary directory, and print its path
    #[arg(long)]
    keep: bool,
}

/// A comment, and the command that is typed.
struct Step {
    says: &'static str,
    types: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        says: "A repository in an area of your home directory.",
        types: "git init -q -b main eng/app && cd eng/app && git commit -q --allow-empty -m start",
    },
    Step {
        says: "The area's sweatfile is yours. Every worktree below ~/eng gets what it says.",
        types: "cat > ~/eng/sweatfile <<'END'\n\
                git_excludes = [\"/.envrc\", \"/.claude/\"]\n\
                \n\
                [files.envrc]\n\
                content = \"dotenv_if_exists .sweatshop-env\\n\"\n\
                [files.\"claude/settings.local.json\"]\n\
                source = \"agent-settings.json\"\n\
                END\n\
                echo '{ \"permissions\": { \"allow\": [\"Bash(cargo test)\"] } }' > ~/eng/agent-settings.json",
    },
    Step {
        says: "The repository's sweatfile is checked in. It takes effect once you approved it.",
        types: "cat > sweatfile <<'END'\n\
                setup = [\"echo fetching dependencies\"]\n\
                template = true\n\
                \n\
                [env]\n\
                APP_PORT = \"{port}\"\n\
                END\n\
                git add sweatfile && git commit -q -m sweatfile && sweatfile-apply approve --yes",
    },
    Step { says: "A hook sets up every worktree that git creates.", types: "sweatfile-apply hook install" },
    Step { says: "Create a worktree for an agent.", types: "git worktree add -q ../feature && cd ../feature" },
    Step {
        says: "It has its files and its port, and its status is clean.",
        types: "ls -A && cat .sweatshop-env && git status --short",
    },
    Step {
        says: "CI can check whether a worktree is still what its sweatfiles say.",
        types: "sweatfile-apply check && echo in step",
    },
    Step {
        says: "An agent adds a variable. A review puts it into the sweatfile before the worktree goes.",
        types: "sweatfile-apply env snapshot && echo LOG=debug >> .sweatshop-env && sweatfile-apply env review --promote LOG",
    },
    Step {
        says: "The next worktree has the variable from the start.",
        types: "git worktree add -q ../next && cat ../next/.sweatshop-env",
    },
    Step {
        says: "An overlay keeps the permissions of agents the same in all worktrees.",
        types: "cd ../feature && rm .claude/settings.local.json && cp ~/eng/agent-settings.json .claude/settings.local.json\n\
                overlay-sync add .claude/settings.local.json && overlay-sync attach . ../next",
    },
    Step {
        says: "One agent is granted git, the other npm. Both get both.",
        types: "sed -i 's/\"Bash(cargo test)\"/&, \"Bash(git:*)\"/' .claude/settings.local.json\n\
                sed -i 's/\"Bash(cargo test)\"/&, \"Bash(npm:*)\"/' ../next/.claude/settings.local.json\n\
                overlay-sync sync && cat ../next/.claude/settings.local.json",
    },
    Step {
        says: "Both set the model. One value wins, and the other one is kept.",
        types: "sed -i 's/^{/{ \"model\": \"a\",/' .claude/settings.local.json; sed -i 's/^{/{ \"model\": \"b\",/' ../next/.claude/settings.local.json\n\
                overlay-sync sync || overlay-sync conflicts --json | cut -d'\"' -f6 | xargs overlay-sync show",
    },
    Step {
        says: "A hook would run code in every worktree, so it waits for a person. The rest of the edit is synced.",
        types: "sed -i 's/^{/{ \"hooks\": { \"Stop\": [{ \"command\": \"date\" }] }, \"theme\": \"dark\",/' .claude/settings.local.json\n\
                overlay-sync sync || cat ../next/.claude/settings.local.json",
    },
    Step {
        says: "Agents share a ledger. Its events never conflict, and git merges the page that is made of them.",
        types: "ledger-synth install && git add .gitattributes && git commit -q -m 'merge driver' && git -C ../next merge -q feature",
    },
    Step {
        says: "Two agents write down what they did and decided, each on its own branch.",
        types: "ledger-synth add --agent toast --done 'Wrote the parser' --decision lexer='by hand' --synth --commit\n\
                ledger-synth -C ../next add --agent waffle --now 'Review the parser' --done 'Covered it with tests' --synth --commit",
    },
    Step {
        says: "After a merge the ledger has the work of both.",
        types: "git merge -q --no-edit next && sed '/^---/,$d' thoughts/shared/handoffs/current.md",
    },
    Step {
        says: "CI and the pre-push hook can check whether the page matches its events.",
        types: "ledger-synth add --agent toast --now 'Ship it' && ledger-synth --check || ledger-synth --no-confirm && ledger-synth --check",
    },
    Step {
        says: "New worktrees get the permissions from the overlay instead of the sweatfile.",
        types: "sed -i '/settings.local/,$d' ~/eng/sweatfile && cd ../app && overlay-sync -q hook install",
    },
    Step {
        says: "Create an agent with its own worktree. The hook applies the sweatfiles and the overlay.",
        types: "cd \"$(worktree-spawn subtree 'Feature A' --task 'Write the lexer')\"\n\
                git branch --show-current && cat .sweatshop-env .claude/settings.local.json && git status --short",
    },
    Step {
        says: "The agent reports to its parent, which reads the report when it is ready.",
        types: "worktree-spawn run main.feature-a -- sh -c 'worktree-spawn notify success \"done: $(cat $SHOPFLOOR_TASK_FILE)\"'\n\
                cd ../../.. && worktree-spawn wait --type subtree_complete | grep -o '\"from\":{\"id\":[^,]*\\|\"message\":[^,]*' && worktree-spawn list --tree",
    },
    Step {
        says: "worker-ctl runs agents in tmux, one per worktree. Their root is a clone of the repository.",
        types: "git merge -q feature && worker-ctl init --target ~/workers && cd ~/workers",
    },
    Step {
        says: "Any program can be an agent. This one is scripted, and obeys the words in capitals.",
        types: "cat >> config.toml <<'END'\n\
                \n\
                [agents.mine]\n\
                command = [\"agent\"]\n\
                ready = { pattern = \"^>\" }\n\
                END\n\
                worker-ctl add adam --agent mine && worker-ctl add baker --agent mine",
    },
    Step {
        says: "The clone has the repository's hooks, so each worktree has its variables and permissions.",
        types: "cat .worktrees/adam/.sweatshop-env .worktrees/adam/.claude/settings.local.json",
    },
    Step {
        says: "A permission that one worker is granted reaches the other one.",
        types: "sed -i 's/\"Bash(git:\\*)\"/&, \"Bash(make:*)\"/' .worktrees/adam/.claude/settings.local.json\n\
                overlay-sync -q -C .worktrees/adam sync; cat .worktrees/baker/.claude/settings.local.json",
    },
    Step {
        says: "Start both workers in the background.",
        types: "worker-ctl -q up --detach && worker-ctl wait adam baker --for idle --timeout 2m && worker-ctl status",
    },
    Step {
        says: "Give each a task. The result of a task is a commit.",
        types: "worker-ctl start --worker adam --prompt 'Greet whoever comes.\n\
                COMMIT greeting.txt hello Write a greeting'\n\
                worker-ctl start --worker baker --prompt 'And take leave of them.\n\
                COMMIT farewell.txt goodbye Write a farewell'\n\
                worker-ctl wait adam baker --for needs_review --timeout 2m && worker-ctl review adam --interface git",
    },
    Step {
        says: "Reject adam's commit, with what should change. The worker amends it.",
        types: "worker-ctl reject 'Greet everybody.\n\
                AMEND greeting.txt hello,everybody'\n\
                worker-ctl wait adam --for needs_review --timeout 2m && cat .worktrees/adam/greeting.txt",
    },
    Step {
        says: "Add the work to the ledger on adam's branch, review it again, and accept it.",
        types: "ledger-synth -q -C .worktrees/adam add --agent adam --done 'Wrote a greeting' --synth --commit\n\
                worker-ctl review adam --interface git | grep '^+' && worker-ctl accept > /dev/null",
    },
    Step {
        says: "baker's work was rebased onto main. Review and accept it.",
        types: "worker-ctl review baker --interface git && worker-ctl accept > /dev/null",
    },
    Step {
        says: "Each task is one commit on main, and the ledger lists both.",
        types: "git -C ~/eng/app log -2 --format=%s --name-only\n\
                sed '/^### Decisions/,$d' ~/eng/app/thoughts/shared/handoffs/current.md && worker-ctl status",
    },
    Step { says: "End the sessions. Unfinished tasks would be kept.", types: "worker-ctl down && worker-ctl status" },
];

/// The table of the scripted agent.
const SCRIPTED: &str = "command = [\"agent\"]\nready = { pattern = \"^>\" }";

/// The table of a real agent, without its command: what it shows when it is ready for input, and what it may ask
/// before.
const REAL: &str = r#"ready = { pattern = '^[│|]? ?[>❯›]( |$)', timeout_secs = 60 }
dialogs = [
    { pattern = '(?i)do you trust the files|trust this folder', keys = ["Enter"] },
    { pattern = '(?i)bypass permissions mode[^\n]*\n(.*\n)*.*No, exit', keys = ["Down", "Enter"] },
]"#;

/// What is replaced for a real agent. Nobody knows how long it takes.
const WORDS: &[(&str, &str)] = &[
    ("This one is scripted, and obeys the words in capitals.", "This one is yours."),
    ("COMMIT greeting.txt hello Write a greeting", "Write the word hello into greeting.txt, and commit that."),
    ("COMMIT farewell.txt goodbye Write a farewell", "Write the word goodbye into farewell.txt, and commit that."),
    ("AMEND greeting.txt hello,everybody", "Let greeting.txt say: hello, everybody. Amend your commit."),
    ("--timeout 2m", "--timeout 10m"),
];

/// Runs the demo and prints each step as it happens.
pub fn run(args: &Args) -> Result<()> {
    let stage = Stage::new(args.agent.clone())?;
    stage.perform(|text| print!("{text}"))?;
    println!("\n# That was real git and real tmux, in {}.", stage.home().display());
    if args.keep {
        println!("# It is kept: {}", stage.dir.keep().display());
    }
    Ok(())
}

struct Stage {
    // The first field, because it must be dropped before the directory is deleted.
    _guard: Guard,
    dir: tempfile::TempDir,
    bin: PathBuf,
    /// The command line of a real agent.
    agent: Option<String>,
}

/// A shell that waits until its stdin is closed, which also happens when we are killed. It then ends what the demo left
/// in tmux.
struct Guard(Child);

impl Guard {
    fn new(home: &Path, bin: &Path) -> Result<Guard> {
        let script = "trap '' INT HUP TERM; read -r _; cd ~/workers 2> /dev/null && exec worker-ctl -q down --force";
        let mut sh = isolated("sh", home, bin);
        Ok(Guard(sh.args(["-c", script]).stdin(Stdio::piped()).spawn().context("cannot run sh")?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // `wait` closes its stdin first.
        let _ = self.0.wait();
    }
}

impl Stage {
    fn new(agent: Option<String>) -> Result<Stage> {
        require("git")?;
        require("tmux")?;
        let bin = build(false)?;
        if agent.is_none() {
            // It belongs to the tests, and does not ship.
            cargo(&["build", "--quiet", "--package", "it", "--bin", "agent"])?;
        }
        let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
        let home = dir.path().join("home");
        std::fs::create_dir(&home)?;
        Ok(Stage { _guard: Guard::new(&home, &bin)?, dir, bin, agent })
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Performs every step. A step that fails ends the demo.
    fn perform(&self, mut tell: impl FnMut(&str)) -> Result<()> {
        let mut here = self.home();
        for step in STEPS {
            let (says, types) = (self.meant(step.says), self.meant(step.types));
            tell(&format!("\n# {says}\n$ {types}\n"));
            let (output, next) = self.step(&types, &here)?;
            tell(&output.replace(&self.home().display().to_string(), "~"));
            here = next;
        }
        Ok(())
    }

    /// The text of a step, adapted to the agent.
    fn meant(&self, text: &str) -> String {
        let Some(agent) = &self.agent else { return text.to_owned() };
        // The agent finds its login in the real home.
        let home = format!("HOME={}", std::env::var_os("HOME").unwrap_or_default().to_string_lossy());
        let command = ["env", &home, "sh", "-c", &format!("exec {agent}")];
        let text = text.replace(SCRIPTED, &format!("command = {command:?}\n{REAL}"));
        WORDS.iter().fold(text, |text, (scripted, real)| text.replace(scripted, real))
    }

    /// Runs a line as if typed into a shell. Returns what it printed, and the directory that it ended in.
    fn step(&self, line: &str, here: &Path) -> Result<(String, PathBuf)> {
        let place = self.dir.path().join("where");
        let script = format!("{{ {line}\n}} 2>&1 || exit\npwd > '{}'", place.display());
        let mut sh = isolated("sh", &self.home(), &self.bin);
        match &self.agent {
            // With the real time, each run would have other events.
            None => sh.env("SHOPFLOOR_NOW", "2026-01-01T12:00:00Z"),
            Some(_) => sh.envs(passed_on()),
        };
        let output = sh.args(["-c", &script]).current_dir(here).stderr(Stdio::inherit()).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("the step failed with {}: {line}\n{printed}", output.status);
        }
        let here = std::fs::read_to_string(&place)?;
        Ok((printed, here.trim_end().into()))
    }
}

/// Our environment, because a real agent needs its keys and proxies, without the variables that redirect git, tmux or
/// the tools.
fn passed_on() -> impl Iterator<Item = (OsString, OsString)> {
    const OURS: &str = "HOME PATH LC_ GIT_ XDG_ TMUX CLAUDECODE SHOPFLOOR SWEATFILE OVERLAY_ LEDGER_ WORKTREE_ WORKER_";
    std::env::vars_os().filter(|(key, _)| !OURS.split(' ').any(|ours| key.to_string_lossy().starts_with(ours)))
}

/// Requires a program. Root installs it, a person on a terminal is asked first, and everybody else is told the command.
fn require(program: &str) -> Result<()> {
    const MANAGERS: [(&str, &[&str]); 4] =
        [("apt-get", &["install", "-y"]), ("dnf", &["install", "-y"]), ("apk", &["add"]), ("brew", &["install"])];
    if find(program).is_some() {
        return Ok(());
    }
    let missing = |what: String| -> Result<()> { Err(Missing(format!("{program} is missing; {what}")).into()) };
    let Some((manager, args)) = MANAGERS.into_iter().find(|(manager, _)| find(manager).is_some()) else {
        return missing("install it, then run the command again".into());
    };
    let id = Command::new("id").arg("-u").output().context("cannot run id")?;
    let is_root = id.stdout.trim_ascii() == b"0";
    // brew must not run as root.
    let sudo: &[&str] = if is_root || manager == "brew" { &[] } else { &["sudo"] };
    let words: Vec<&str> = sudo.iter().copied().chain([manager]).chain(args.iter().copied()).chain([program]).collect();
    let line = words.join(" ");
    if !is_root || manager == "brew" {
        let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if !can_ask {
            return missing(format!("install it: `{line}`"));
        }
        eprint!("xtask: {program} is missing. Run `{line}`? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !answer.trim().eq_ignore_ascii_case("y") {
            return missing(format!("install it: `{line}`"));
        }
    }
    if manager == "apt-get" {
        // A new machine has no list of packages. Without a network the update fails, and the package may be there
        // anyway.
        let update: Vec<&str> = sudo.iter().copied().chain([manager, "update", "-qq"]).collect();
        let _ = run::run(update[0], &update[1..]);
    }
    match run::run(words[0], &words[1..]) {
        Ok(()) if find(program).is_some() => Ok(()),
        _ => missing(format!("`{line}` did not install it")),
    }
}

/// The demo as the picture of the README, without lines that differ from run to run (times).
pub fn picture() -> Result<String> {
    let mut text = String::new();
    Stage::new(None)?.perform(|part| text.push_str(part))?;
    let lines: Vec<&str> = text.trim().lines().filter(|l| !l.contains("] done in ")).collect();
    Ok(svg(&lines))
}

fn svg(lines: &[&str]) -> String {
    const LINE: usize = 18;
    let width = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0) * 8 + 32;
    let height = lines.len() * LINE + 28;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#15181e\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" xml:space=\"preserve\">\n"
    );
    for (i, line) in lines.iter().enumerate() {
        let color = match line {
            l if l.starts_with("# ") => "#7d8799",
            l if l.starts_with("$ ") => "#9ece6a",
            l if l.starts_with("sweatfile-apply: ") => "#e0af68",
            _ => "#d5dae3",
        };
        let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let y = 28 + i * LINE;
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "<text x=\"16\" y=\"{y}\" fill=\"{color}\">{escaped}</text>");
    }
    svg + "</g>\n</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_agent_gets_other_words() {
        let said = |text: &str| STEPS.iter().any(|step| step.says.contains(text) || step.types.contains(text));
        assert!(said(SCRIPTED));
        for (scripted, _) in WORDS {
            assert!(said(scripted), "{scripted}");
        }
    }
}
