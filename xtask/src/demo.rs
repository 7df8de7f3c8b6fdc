//! `cargo xtask demo`: the main job, end to end, in a temporary directory.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::run::{Missing, build, find, isolated};

#[derive(clap::Args)]
pub struct Args {
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
];

/// Runs the demo and prints each step as it happens.
pub fn run(args: &Args) -> Result<()> {
    let stage = Stage::new()?;
    stage.perform(|text| print!("{text}"))?;
    println!("\n# That was real git, in {}.", stage.home().display());
    if args.keep {
        println!("# It is kept: {}", stage.dir.keep().display());
    }
    Ok(())
}

struct Stage {
    dir: tempfile::TempDir,
    bin: PathBuf,
}

impl Stage {
    fn new() -> Result<Stage> {
        if find("git").is_none() {
            return Err(Missing("git is missing; install it, for example with `apt-get install git`".into()).into());
        }
        let bin = build(false)?;
        let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
        std::fs::create_dir(dir.path().join("home"))?;
        Ok(Stage { dir, bin })
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Performs every step; a step that fails ends the demo.
    fn perform(&self, mut tell: impl FnMut(&str)) -> Result<()> {
        let mut here = self.home();
        for step in STEPS {
            tell(&format!("\n# {}\n$ {}\n", step.says, step.types));
            let (output, next) = self.step(step.types, &here)?;
            tell(&output.replace(&self.home().display().to_string(), "~"));
            here = next;
        }
        Ok(())
    }

    /// Runs a line as typed into one shell; returns what it printed and where it left off.
    fn step(&self, line: &str, here: &Path) -> Result<(String, PathBuf)> {
        let place = self.dir.path().join("where");
        let script = format!("{{ {line}\n}} 2>&1 || exit\npwd > '{}'", place.display());
        let mut sh = isolated("sh", &self.home(), &self.bin);
        // What the clock says would make each run's events others.
        sh.env("SHOPFLOOR_NOW", "2026-01-01T12:00:00Z");
        let output = sh.args(["-c", &script]).current_dir(here).stderr(Stdio::inherit()).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("the step failed with {}: {line}\n{printed}", output.status);
        }
        let here = std::fs::read_to_string(&place)?;
        Ok((printed, here.trim_end().into()))
    }
}

/// The demo as the README's picture. What changes from run to run (times) is left out.
pub fn picture() -> Result<String> {
    let mut text = String::new();
    Stage::new()?.perform(|part| text.push_str(part))?;
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
