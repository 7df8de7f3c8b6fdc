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
    /// A real agent for the workers, as a line for `sh`, instead of the scripted one; nobody sits at its terminal
    #[arg(long, value_name = "CMD")]
    agent: Option<String>,
    /// Keep the temporary directory and say where it is
    #[arg(long)]
    keep: bool,
}

/// What is told, and what is typed.
struct Step {
    says: &'static str,
    types: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        says: "A repository, below an area of your home directory.",
        types: "git init -q -b main eng/app && cd eng/app && git commit -q --allow-empty -m start",
    },
    Step {
        says: "The area's sweatfile is yours: what every worktree below ~/eng gets.",
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
        says: "The repository's sweatfile is checked in, and counts only once you approved it.",
        types: "cat > sweatfile <<'END'\n\
                setup = [\"echo fetching dependencies\"]\n\
                template = true\n\
                \n\
                [env]\n\
                APP_PORT = \"{port}\"\n\
                END\n\
                git add sweatfile && git commit -q -m sweatfile && sweatfile-apply approve --yes",
    },
    Step { says: "From now on git sets up what it creates.", types: "sweatfile-apply hook install" },
    Step {
        says: "A new worktree for an agent, ready to work in.",
        types: "git worktree add -q ../feature && cd ../feature",
    },
    Step {
        says: "Its files, its port, and a clean status.",
        types: "ls -A && cat .sweatshop-env && git status --short",
    },
    Step {
        says: "CI and status lines can ask whether it still is what its sweatfiles say.",
        types: "sweatfile-apply check && echo in step",
    },
    Step {
        says: "An agent adds a variable; nothing of it is lost when the workspace closes.",
        types: "sweatfile-apply env snapshot && echo LOG=debug >> .sweatshop-env && sweatfile-apply env review --promote LOG",
    },
    Step {
        says: "The next worktree has it from the start.",
        types: "git worktree add -q ../next && cat ../next/.sweatshop-env",
    },
    Step {
        says: "Permissions an agent is granted: one overlay keeps them in step between all worktrees.",
        types: "cd ../feature && rm .claude/settings.local.json && cp ~/eng/agent-settings.json .claude/settings.local.json\n\
                overlay-sync add .claude/settings.local.json && overlay-sync attach . ../next",
    },
    Step {
        says: "One agent is granted git, the other npm; both grants are everywhere.",
        types: "sed -i 's/\"Bash(cargo test)\"/&, \"Bash(git:*)\"/' .claude/settings.local.json\n\
                sed -i 's/\"Bash(cargo test)\"/&, \"Bash(npm:*)\"/' ../next/.claude/settings.local.json\n\
                overlay-sync sync && cat ../next/.claude/settings.local.json",
    },
    Step {
        says: "Both set the model; one wins, the other is kept.",
        types: "sed -i 's/^{/{ \"model\": \"a\",/' .claude/settings.local.json; sed -i 's/^{/{ \"model\": \"b\",/' ../next/.claude/settings.local.json\n\
                overlay-sync sync || overlay-sync conflicts --json | cut -d'\"' -f6 | xargs overlay-sync show",
    },
    Step {
        says: "A hook would run code in every worktree: it waits for a person, the rest of the edit travels.",
        types: "sed -i 's/^{/{ \"hooks\": { \"Stop\": [{ \"command\": \"date\" }] }, \"theme\": \"dark\",/' .claude/settings.local.json\n\
                overlay-sync sync || cat ../next/.claude/settings.local.json",
    },
    Step {
        says: "One ledger for all agents: events that never conflict, and a merge driver for the file made of them.",
        types: "ledger-synth install && git add .gitattributes && git commit -q -m 'merge driver' && git -C ../next merge -q feature",
    },
    Step {
        says: "Two agents leave what they did and decided, each on its own branch.",
        types: "ledger-synth add --agent toast --done 'Wrote the parser' --decision lexer='by hand' --synth --commit\n\
                ledger-synth -C ../next add --agent waffle --now 'Review the parser' --done 'Covered it with tests' --synth --commit",
    },
    Step {
        says: "Merged, the ledger says what both did.",
        types: "git merge -q --no-edit next && sed '/^---/,$d' thoughts/shared/handoffs/current.md",
    },
    Step {
        says: "A ledger that is not what its events come to is told from one that is: in CI, and before a push.",
        types: "ledger-synth add --agent toast --now 'Ship it' && ledger-synth --check || ledger-synth --no-confirm && ledger-synth --check",
    },
    Step {
        says: "From now on the permissions come from the overlay, not from the sweatfile, into every new worktree.",
        types: "sed -i '/settings.local/,$d' ~/eng/sweatfile && cd ../app && overlay-sync -q hook install",
    },
    Step {
        says: "An agent with a worktree of its own: sweatfiles and overlay join in, through git's hook.",
        types: "cd \"$(worktree-spawn subtree 'Feature A' --task 'Write the lexer')\"\n\
                git branch --show-current && cat .sweatshop-env .claude/settings.local.json && git status --short",
    },
    Step {
        says: "It reports to its parent, which was not listening and hears of it all the same.",
        types: "worktree-spawn run main.feature-a -- sh -c 'worktree-spawn notify success \"done: $(cat $SHOPFLOOR_TASK_FILE)\"'\n\
                cd ../../.. && worktree-spawn wait --type subtree_complete | grep -o '\"from\":{\"id\":[^,]*\\|\"message\":[^,]*' && worktree-spawn list --tree",
    },
    Step {
        says: "Agents in tmux, one per worktree, from task to reviewed commit. Their root is cloned from the repository.",
        types: "git merge -q feature && worker-ctl init --target ~/workers && cd ~/workers",
    },
    Step {
        says: "Any program will do as an agent. This one is scripted, and obeys what is in capitals.",
        types: "cat >> config.toml <<'END'\n\
                \n\
                [agents.mine]\n\
                command = [\"agent\"]\n\
                ready = { pattern = \"^>\" }\n\
                END\n\
                worker-ctl add adam --agent mine && worker-ctl add baker --agent mine",
    },
    Step {
        says: "The repository's hooks came along, so each worktree has its variables and its permissions.",
        types: "cat .worktrees/adam/.sweatshop-env .worktrees/adam/.claude/settings.local.json",
    },
    Step {
        says: "What one worker is granted, the other has too.",
        types: "sed -i 's/\"Bash(git:\\*)\"/&, \"Bash(make:*)\"/' .worktrees/adam/.claude/settings.local.json\n\
                overlay-sync -q -C .worktrees/adam sync; cat .worktrees/baker/.claude/settings.local.json",
    },
    Step {
        says: "Both come up, in the background, and wait for a task.",
        types: "worker-ctl -q up --detach && worker-ctl wait adam baker --for idle --timeout 2m && worker-ctl status",
    },
    Step {
        says: "A task for each. From here on a commit is what counts.",
        types: "worker-ctl start --worker adam --prompt 'Greet whoever comes.\n\
                COMMIT greeting.txt hello Write a greeting'\n\
                worker-ctl start --worker baker --prompt 'And take leave of them.\n\
                COMMIT farewell.txt goodbye Write a farewell'\n\
                worker-ctl wait adam baker --for needs_review --timeout 2m && worker-ctl review adam --interface git",
    },
    Step {
        says: "Not quite: adam goes back with what should change, and comes again.",
        types: "worker-ctl reject 'Greet everybody.\n\
                AMEND greeting.txt hello,everybody'\n\
                worker-ctl wait adam --for needs_review --timeout 2m && cat .worktrees/adam/greeting.txt",
    },
    Step {
        says: "What it did goes into the ledger, on its branch; then it is looked at once more, and accepted.",
        types: "ledger-synth -q -C .worktrees/adam add --agent adam --done 'Wrote a greeting' --synth --commit\n\
                worker-ctl review adam --interface git | grep '^+' && worker-ctl accept > /dev/null",
    },
    Step {
        says: "The other one follows main by itself, and is what was reviewed.",
        types: "worker-ctl review baker --interface git && worker-ctl accept > /dev/null",
    },
    Step {
        says: "Each landed as one commit on main, and the ledger there says so.",
        types: "git -C ~/eng/app log -2 --format=%s --name-only\n\
                sed '/^### Decisions/,$d' ~/eng/app/thoughts/shared/handoffs/current.md && worker-ctl status",
    },
    Step { says: "Sessions end, tasks would stay.", types: "worker-ctl down && worker-ctl status" },
];

/// What the scripted agent's table says.
const SCRIPTED: &str = "command = [\"agent\"]\nready = { pattern = \"^>\" }";

/// The same of a real one but for its command: what it shows once it takes input, and what it may ask before.
const REAL: &str = r#"ready = { pattern = '^[│|]? ?[>❯›]( |$)', timeout_secs = 60 }
dialogs = [
    { pattern = '(?i)do you trust the files|trust this folder', keys = ["Enter"] },
    { pattern = '(?i)bypass permissions mode[^\n]*\n(.*\n)*.*No, exit', keys = ["Down", "Enter"] },
]"#;

/// What a real agent is told instead; how long it takes nobody knows.
const WORDS: &[(&str, &str)] = &[
    ("This one is scripted, and obeys what is in capitals.", "This one is yours."),
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
    // First, so that it is done before the directory goes.
    _guard: Guard,
    dir: tempfile::TempDir,
    bin: PathBuf,
    /// A real agent's command line.
    agent: Option<String>,
}

/// A shell that waits for the end of its stdin, which comes with ours, and then ends what the demo left in tmux.
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
        // Closes its stdin first.
        let _ = self.0.wait();
    }
}

impl Stage {
    fn new(agent: Option<String>) -> Result<Stage> {
        require("git")?;
        require("tmux")?;
        let bin = build(false)?;
        if agent.is_none() {
            // A part of the tests, which does not ship.
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

    /// Performs every step; a step that fails ends the demo.
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

    /// A step's text for the agent there is.
    fn meant(&self, text: &str) -> String {
        let Some(agent) = &self.agent else { return text.to_owned() };
        // It knows its user by the home it is at home in.
        let home = format!("HOME={}", std::env::var_os("HOME").unwrap_or_default().to_string_lossy());
        let command = ["env", &home, "sh", "-c", &format!("exec {agent}")];
        let text = text.replace(SCRIPTED, &format!("command = {command:?}\n{REAL}"));
        WORDS.iter().fold(text, |text, (scripted, real)| text.replace(scripted, real))
    }

    /// Runs a line as typed into one shell; returns what it printed and where it left off.
    fn step(&self, line: &str, here: &Path) -> Result<(String, PathBuf)> {
        let place = self.dir.path().join("where");
        let script = format!("{{ {line}\n}} 2>&1 || exit\npwd > '{}'", place.display());
        let mut sh = isolated("sh", &self.home(), &self.bin);
        match &self.agent {
            // What the clock says would make each run's events others.
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

/// Our environment, for a real agent's keys and proxies, without what would turn git, tmux or the tools to other places.
fn passed_on() -> impl Iterator<Item = (OsString, OsString)> {
    const OURS: &str = "HOME PATH LC_ GIT_ XDG_ TMUX CLAUDECODE SHOPFLOOR SWEATFILE OVERLAY_ LEDGER_ WORKTREE_ WORKER_";
    std::env::vars_os().filter(|(key, _)| !OURS.split(' ').any(|ours| key.to_string_lossy().starts_with(ours)))
}

/// Sees that a program is there: as root it is installed, on a terminal after asking; else the command is named.
fn require(program: &str) -> Result<()> {
    const MANAGERS: [(&str, &[&str]); 4] =
        [("apt-get", &["install", "-y"]), ("dnf", &["install", "-y"]), ("apk", &["add"]), ("brew", &["install"])];
    if find(program).is_some() {
        return Ok(());
    }
    let missing = |what: String| -> Result<()> { Err(Missing(format!("{program} is missing; {what}")).into()) };
    let Some((manager, args)) = MANAGERS.into_iter().find(|(manager, _)| find(manager).is_some()) else {
        return missing("install it, and run the command again".into());
    };
    let id = Command::new("id").arg("-u").output().context("cannot run id")?;
    let is_root = id.stdout.trim_ascii() == b"0";
    // brew is a user's own.
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
        // A fresh machine knows no packages; one that has no network may have this one.
        let update: Vec<&str> = sudo.iter().copied().chain([manager, "update", "-qq"]).collect();
        let _ = run::run(update[0], &update[1..]);
    }
    match run::run(words[0], &words[1..]) {
        Ok(()) if find(program).is_some() => Ok(()),
        _ => missing(format!("`{line}` did not install it")),
    }
}

/// The demo as the README's picture. What changes from run to run (times) is left out.
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
    fn a_real_agent_is_told_something_else() {
        let said = |text: &str| STEPS.iter().any(|step| step.says.contains(text) || step.types.contains(text));
        assert!(said(SCRIPTED));
        for (scripted, _) in WORDS {
            assert!(said(scripted), "{scripted}");
        }
    }
}
