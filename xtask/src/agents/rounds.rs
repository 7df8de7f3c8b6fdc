//! What each program is tried with.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::lab::Lab;
use super::speech::Turn;

/// Something to try, with the name of its row.
pub struct Round {
    pub name: &'static str,
    /// Whether it belongs to the short run of every change.
    pub is_short: bool,
    pub run: fn(&mut Lab<'_>, usize) -> Result<String>,
}

/// The rounds, in their order: each goes on where the one before it stopped.
pub const ROUNDS: &[Round] = &[
    Round { name: "ready after", is_short: true, run: up },
    Round { name: "reject, amend, accept", is_short: true, run: cycle },
    Round { name: "tasks that arrived exactly once, byte for byte", is_short: true, run: deliver },
    Round { name: "task at the model after", is_short: false, run: latency },
    Round { name: "killed: known after; then `up` and its task", is_short: true, run: kill },
    Round { name: "`shopfloor new`, `review`, `land`, `rm`: landed after", is_short: true, run: life },
    Round { name: "a question through `shopfloor new`, `answer`", is_short: true, run: asked },
    Round { name: "`shopfloor new --sandbox`, `review`, `back`, `land`, `rm`", is_short: true, run: contained },
    Round { name: "two at once, one reset", is_short: false, run: two },
    Round { name: "a usage limit: told after; work goes on after its end", is_short: false, run: limited },
    Round { name: "a question for a person", is_short: false, run: question },
    Round { name: "started by worktree-spawn, reports over MCP", is_short: false, run: spawn },
    Round { name: "the ledger's banner and SessionEnd", is_short: false, run: ledger },
    Round { name: "\"don't ask again\" under overlay-sync watch", is_short: false, run: permission },
    Round { name: "`claude --worktree` through worktree-spawn's hooks", is_short: false, run: worktree },
];

fn up(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    let mut args = vec!["add", "adam", "--agent", lab.trial.name()];
    args.extend(lab.trial.model.iter().flat_map(|model| ["--model", *model]));
    lab.ctl(&args)?;
    let begun = Instant::now();
    lab.ctl(&["up", "adam"])?;
    Ok(seconds(begun.elapsed()))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A task, a rejection, another commit, and its landing.
fn cycle(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    lab.ctl(&["start", "--worker", "adam", "--task", &format!("First try\n{}", lab.trial.work("c1"))])?;
    lab.wait("adam", "needs_review")?;
    lab.ctl(&["review", "adam"])?;
    let before = lab.model.count();
    lab.ctl(&["reject", &format!("Handle errors\n{}", lab.trial.work("c2"))])?;
    lab.wait("adam", "needs_review")?;
    let prompts = lab.prompts_since(before);
    let rejections: Vec<_> =
        prompts.iter().filter(|turn| turn.prompts.last().is_some_and(|text| text.contains("Handle errors"))).collect();
    ensure!(rejections.len() == 1, "the rejection arrived {} times", rejections.len());
    let knows = rejections[0].prompts.iter().any(|text| text.contains("First try"));
    lab.ctl(&["review", "adam"])?;
    lab.ctl(&["accept", "adam"])?;
    ensure!(lab.app.join("filec2.txt").exists(), "the work has not landed");
    Ok(if knows { "yes, with the history".into() } else { "yes, without the history".into() })
}

/// Tasks of seven kinds, each with its review and its landing.
fn deliver(lab: &mut Lab<'_>, count: usize) -> Result<String> {
    let (mut exact, mut odd) = (0, Vec::new());
    let kinds = texts();
    for number in 0..count {
        let (kind, text) = &kinds[number % kinds.len()];
        let task = format!("Task {number:02} {kind}: {text}\n{}", lab.trial.work(&format!("d{number}")));
        let (file, before) = (lab.write("task.md", &task)?, lab.model.count());
        lab.ctl(&["start", "--worker", "adam", "--task-file", &file])?;
        if let Err(failure) = lab.wait("adam", "needs_review") {
            let seen = lab.arrivals(before, &task);
            bail!("task {number} ({kind}) came {seen:?} and did not end: {failure:#}");
        }
        match lab.arrivals(before, &task) {
            (1, 1) => exact += 1,
            (_, 1) => {
                let prompt = lab.prompts_since(before).pop().and_then(|turn| turn.prompts.last().cloned());
                let prompt = prompt.unwrap_or_default();
                let strange =
                    prompt.lines().filter(|line| !task.contains(line)).take(9).collect::<Vec<_>>().join("\n    ");
                eprintln!(
                    "xtask:   task {number} ({kind}) came changed; the lines that it did not have:\n    {strange}"
                );
                odd.push(*kind);
            }
            (_, times) => bail!("task {number} ({kind}) arrived {times} times"),
        }
        lab.ctl(&["accept", "adam"])?;
    }
    odd.dedup();
    let odd = if odd.is_empty() { String::new() } else { format!("; changed: {}", odd.join(", ")) };
    Ok(format!("{exact} of {count}{odd}"))
}

/// From the beginning of `start` to the prompt at the model, the worker being up.
fn latency(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    let mut all = Vec::new();
    for number in 0..5 {
        let (before, begun) = (lab.model.count(), Instant::now());
        let task = format!("Quick {number}\n{}", lab.trial.work(&format!("q{number}")));
        lab.ctl(&["start", "--worker", "adam", "--task", &task])?;
        lab.until("the task is at the model", || Ok(!lab.prompts_since(before).is_empty()))?;
        all.push(begun.elapsed());
        lab.wait("adam", "needs_review")?;
        lab.ctl(&["accept", "adam"])?;
    }
    all.sort();
    Ok(format!("{} (slowest of five: {})", seconds(all[2]), seconds(all[4])))
}

/// A program that is killed at work goes on with its conversation, or gets its task again.
fn kill(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    let begin = if lab.trial.has_no_tools() { "" } else { "MODEL run echo begun\n" };
    let task = format!("Long work\n{begin}MODEL wait 60\n{}", lab.trial.work("k"));
    let before = lab.model.count();
    lab.ctl(&["start", "--worker", "adam", "--task", &task])?;
    let is_at_work = |turn: &Turn| lab.is_main(turn) && (turn.results > 0 || lab.trial.has_no_tools());
    lab.until("it is at work", || Ok(lab.model.since(before).iter().any(is_at_work)))?;
    let pid = lab.status("adam")?["pane_pid"].to_string();
    lab.must("kill", &["-9", &pid])?;
    let known = lab.wait("adam", "error")?;
    lab.ctl(&["up", "adam"])?;
    let row = lab.status("adam")?;
    ensure!(row["task"] == "working", "its task is {}", row["task"]);
    let is_fresh = row["activity"] == "fresh";
    let before = lab.model.count();
    let say = format!("Go on\n{}", lab.trial.work("k2"));
    match is_fresh {
        true => lab.ctl(&["start", "--resume", "adam"])?,
        false => lab.ctl(&["message", "adam", &say])?,
    };
    let goes_on = lab.until("it goes on", || Ok(!lab.prompts_since(before).is_empty()));
    goes_on.with_context(|| format!("its screen:\n{}", lab.screen("adam")))?;
    let prompts = lab.prompts_since(before);
    let knows = prompts[0].prompts.iter().any(|text| text.contains("Long work"));
    let told = || format!("{} prompts; the task is known: {knows}; its screen:\n{}", prompts.len(), lab.screen("adam"));
    ensure!(knows && prompts.len() == 1, "{}", told());
    if is_fresh {
        lab.ctl(&["reset", "adam", "--force"])?;
    } else {
        lab.wait("adam", "needs_review")?;
        lab.ctl(&["accept", "adam"])?;
    }
    let how = if is_fresh { "`start --resume`, arrived once" } else { "its conversation was continued" };
    Ok(format!("{}; {how}", seconds(known)))
}

/// An agent in a worktree of the repository itself, from its task to a landed change.
fn life(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    lab.more.extend(lab.trial.model.map(|model| ("WORKER_CTL_MODEL", model.to_owned())));
    let (begun, before) = (Instant::now(), lab.model.count());
    let task = format!("An own worktree\n{}", lab.trial.work("life"));
    lab.must("shopfloor", &["new", "own", &task, "--agent", lab.trial.name(), "--yolo"])?;
    lab.wait("own", "needs_review")?;
    let (_, times) = lab.arrivals(before, &task);
    ensure!(times == 1, "the task arrived {times} times");
    let listed = lab.must("worktree-spawn", &["list", "--json"])?;
    let runs = listed.lines().any(|line| line.contains("\"main.own\"") && line.contains("\"alive\":\"up\""));
    ensure!(runs, "worktree-spawn does not see it run: {listed}");
    lab.must("shopfloor", &["review", "own"])?;
    lab.must("shopfloor", &["land", "own"])?;
    ensure!(lab.app.join("filelife.txt").exists(), "the work has not landed");
    let after = seconds(begun.elapsed());
    lab.must("shopfloor", &["rm", "own"])?;
    ensure!(!lab.must("git", &["worktree", "list"])?.contains("own"), "the worktree is still there");
    lab.more.clear();
    Ok(after)
}

/// An agent of `shopfloor new` asks before it does something, and a person answers at the front door.
fn asked(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if !["claude", "codex"].contains(&lab.trial.name()) {
        return Ok("not tried".into());
    }
    if lab.trial.name() == "claude" {
        // By default it asks its server whether a tool may run.
        let line = "mkdir -p .claude && echo '{\"permissions\":{\"defaultMode\":\"default\"}}' > .claude/settings.json \
                    && git add -f .claude/settings.json && git commit -qm settings";
        let app = lab.app.display().to_string();
        lab.must("sh", &["-c", &format!("cd '{app}' && {line}")])?;
    }
    lab.more.extend(lab.trial.model.map(|model| ("WORKER_CTL_MODEL", model.to_owned())));
    let task = format!("May I?\n{}", lab.trial.questionable_work("asked"));
    lab.must("shopfloor", &["new", "asked", &task, "--agent", lab.trial.name()])?;
    let begun = Instant::now();
    // codex tells nothing of its questions: its screen does.
    let is_asked = || lab.must("shopfloor", &["answer", "asked"]).is_ok_and(|menu| menu.contains("1. "));
    lab.until("a menu", || Ok(is_asked())).with_context(|| format!("its screen:\n{}", lab.screen("asked")))?;
    let told = lab.status("asked")?["activity"] == "asks";
    lab.must("shopfloor", &["answer", "asked", "1"])?;
    lab.wait("asked", "needs_review")?;
    let after = seconds(begun.elapsed());
    lab.must("shopfloor", &["land", "asked"])?;
    ensure!(lab.app.join("fileasked.txt").exists(), "the work has not landed");
    lab.must("shopfloor", &["rm", "asked"])?;
    lab.more.clear();
    Ok(format!("{}, landed after {after}", if told { "told" } else { "on its screen" }))
}

/// An agent in a sandbox, from its task to a landed change.
fn contained(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if crate::run::find("bwrap").is_none() {
        return Ok("not tried: no bubblewrap".into());
    }
    let names: Vec<String> = lab.trial.variables("").into_iter().map(|(name, _)| format!("{name:?}")).collect();
    let settings = format!("[worker-ctl.runners.sandbox]\nenv = [{}]\n", names.join(", "));
    lab.settings(&settings)?;
    lab.more.extend(lab.trial.model.map(|model| ("WORKER_CTL_MODEL", model.to_owned())));
    let (begun, task) = (Instant::now(), format!("Contained\n{}", lab.trial.work("box1")));
    let made = lab.must("shopfloor", &["new", "boxed", &task, "--agent", lab.trial.name(), "--sandbox"]);
    made.with_context(|| format!("its screen:\n{}", lab.screen("boxed")))?;
    lab.wait("boxed", "needs_review").with_context(|| format!("its screen:\n{}", lab.screen("boxed")))?;
    lab.must("shopfloor", &["review", "boxed", "--pin"])?;
    lab.must("shopfloor", &["back", "boxed", &format!("Once more\n{}", lab.trial.work("box2"))])?;
    lab.wait("boxed", "needs_review").with_context(|| format!("its screen:\n{}", lab.screen("boxed")))?;
    lab.must("shopfloor", &["review", "boxed", "--pin"])?;
    lab.must("shopfloor", &["land", "boxed"])?;
    ensure!(lab.app.join("filebox2.txt").exists(), "the work has not landed");
    let after = seconds(begun.elapsed());
    lab.must("shopfloor", &["rm", "boxed"])?;
    lab.settings("")?;
    lab.more.clear();
    Ok(format!("landed after {after}"))
}

/// Two workers of one program; one is reset while the other works.
fn two(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    let mut args = vec!["add", "eve", "--agent", lab.trial.name()];
    args.extend(lab.trial.model.iter().flat_map(|model| ["--model", *model]));
    lab.ctl(&args)?;
    lab.ctl(&["up", "eve"])?;
    let before = lab.model.count();
    for name in ["adam", "eve"] {
        let task = format!("For {name}\nMODEL wait 4\n{}", lab.trial.work(&format!("t-{name}")));
        lab.ctl(&["start", "--worker", name, "--task", &task])?;
    }
    lab.until("both are at work", || Ok(lab.prompts_since(before).len() >= 2))?;
    lab.ctl(&["reset", "adam", "--force"])?;
    lab.wait("eve", "needs_review")?;
    let mine = lab.root.join(".worktrees/eve/filet-eve.txt").exists();
    let strange = lab.root.join(".worktrees/eve/filet-adam.txt").exists();
    ensure!(mine && !strange, "eve did her own work: {mine}, adam's: {strange}");
    lab.ctl(&["accept", "eve"])?;
    lab.ctl(&["nuke", "eve", "--yes"])?;
    Ok("the other goes on".into())
}

/// An account's usage limit is hit, and the work goes on after it, without a person.
fn limited(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if !["claude", "codex"].contains(&lab.trial.name()) {
        return Ok("tells nothing".into());
    }
    lab.ctl(&["down"])?;
    // A limit with a time is one of subscriptions.
    let token = format!("sk-ant-oat01-{}-AAAA", "dummy".repeat(10));
    lab.more = vec![("ANTHROPIC_API_KEY", String::new()), ("CLAUDE_CODE_OAUTH_TOKEN", token)];
    lab.ctl(&["up", "--detach", "--patrol-interval-secs", "2"])?;
    lab.ctl(&["start", "--worker", "adam", "--task", &format!("Limited\nMODEL limit 15\n{}", lab.trial.work("lim"))])?;
    let begun = Instant::now();
    lab.until("it is limited", || Ok(lab.status("adam")?["limited_until_at"].is_string()))
        .with_context(|| format!("its screen:\n{}", lab.screen("adam")))?;
    let told = begun.elapsed();
    lab.ctl(&["wait", "adam", "--for", "needs_review", "--timeout", "200s"])
        .with_context(|| format!("its screen:\n{}", lab.screen("adam")))?;
    let after = begun.elapsed().saturating_sub(Duration::from_secs(15));
    ensure!(after < Duration::from_secs(120), "it went on after {}", seconds(after));
    lab.ctl(&["accept", "adam"])?;
    lab.ctl(&["down"])?;
    lab.more.clear();
    lab.ctl(&["up", "adam"])?;
    Ok(format!("{}; {}", seconds(told), seconds(after)))
}

/// A program that may not do everything asks, and nothing is typed over its question.
fn question(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if lab.trial.has_no_tools() {
        return Ok("asks nothing".into());
    }
    if lab.trial.name() == "claude" {
        // By default it asks its server whether a tool may run.
        let line =
            "mkdir -p .claude && echo '{\"permissions\":{\"defaultMode\":\"default\"}}' > .claude/settings.local.json";
        let tree = lab.root.join(".worktrees/adam");
        lab.must("sh", &["-c", &format!("cd {} && {line}", tree.display())])?;
        lab.must("sh", &["-c", &format!("echo .claude >> {}/.git/info/exclude", lab.root.display())])?;
    }
    if lab.trial.name() == "gemini" {
        lab.trust()?;
    }
    lab.more = vec![("WORKER_CTL_SKIP_PERMISSIONS", "false".into()), ("WORKER_CTL_ALLOWED_TOOLS", "Read".into())];
    lab.ctl(&["start", "--worker", "adam", "--task", &format!("May I?\n{}", lab.trial.questionable_work("a"))])?;
    let asked = lab.ctl(&["wait", "adam", "--for", "asks", "--timeout", "15s"]);
    let told = match asked {
        Ok(_) => {
            let row = lab.status("adam")?;
            ensure!(row["activity_text"].as_str().is_some_and(|text| text.contains("filea.txt")), "asks: {row}");
            lab.refused(&["message", "adam", "hurry"], 1)?;
            "told by its hook"
        }
        Err(_) if lab.status("adam")?["activity"] == "unknown" => "not told",
        Err(failure) => bail!("{failure:#}\n{}", lab.screen("adam")),
    };
    // A program tells of a question before it takes keys. In an empty line an Enter does nothing.
    let answer = || -> Result<String> {
        lab.tmux(&["send-keys", "-t", "=worker-adam:", "Enter"])?;
        lab.ctl(&["wait", "adam", "--for", "needs_review", "--timeout", "7s"])
    };
    let done = answer().or_else(|_| answer()).or_else(|_| answer());
    lab.more.clear();
    match done {
        Ok(_) => lab.ctl(&["accept", "adam"])?,
        // It asked nothing, or something else.
        Err(failure) => bail!("{told}; after the answer: {failure:#}\n{}", lab.screen("adam")),
    };
    Ok(format!("{told}, answered"))
}

/// A program in a subtree gets its task, and calls the MCP server, in a folder of a repository that a person trusts.
fn spawn(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if lab.trial.has_no_tools() {
        return Ok("has no MCP".into());
    }
    let begun = Instant::now();
    // claude shows a tool only after the model has looked for it.
    let search = "MODEL call ToolSearch {\"query\":\"select:mcp__shopfloor__notify_parent\",\"max_results\":1}\n";
    let call = "MODEL call notify_parent {\"status\":\"success\",\"message\":\"hello from feat\"}";
    launch(lab, "feat", &format!("{}{call}", if lab.trial.name() == "claude" { search } else { "" }))?;
    let heard = lab.must("worktree-spawn", &["wait", "--timeout", "60s"]);
    let took = begun.elapsed();
    let screen = lab.spawn_tmux(&["capture-pane", "-p", "-t", "s:feat"]).unwrap_or_default();
    let heard = heard.with_context(|| format!("its screen:\n{screen}"))?;
    ensure!(heard.contains("hello from feat"), "another event came: {heard}\n{screen}");
    Ok(seconds(took))
}

/// Starts a program in a subtree, in the lab's own tmux.
fn launch(lab: &Lab<'_>, subtree: &str, task: &str) -> Result<()> {
    // A program that runs may write its home's files anew.
    lab.ctl(&["down", "--force"])?;
    lab.trust()?;
    if lab.spawn_tmux(&["has-session", "-t", "s"]).is_err() {
        lab.spawn_tmux(&["new-session", "-d", "-s", "s", "-x", "180", "-y", "50"])?;
    }
    let line = ["subtree", subtree, "--task", task, "--launch", "--agent", lab.trial.name(), "--launcher", "tmux"];
    let mut command = lab.command("worktree-spawn", &line);
    let output = command.env("TMUX", format!("{},1,0", lab.spawn_socket())).output()?;
    ensure!(output.status.success(), "subtree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// claude reads the ledger when it starts, and leaves its draft as an event when it ends.
fn ledger(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if lab.trial.name() != "claude" {
        return Ok("not installed".into());
    }
    lab.must("ledger-synth", &["install", "--claude"])?;
    lab.must("ledger-synth", &["add", "--agent", "ada", "--now", "Read the whole plan", "--synth"])?;
    let file = lab.app.join(".claude/settings.json");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    settings["permissions"] = json!({ "defaultMode": "default", "allow": ["Bash(ledger-synth:*)"] });
    std::fs::write(&file, settings.to_string())?;
    lab.must("sh", &["-c", "git add -A && git commit -qm ledger"])?;
    let before = lab.model.count();
    launch(lab, "led", "MODEL run ledger-synth add --draft --done 'Left word'")?;
    lab.until("its turn has ended", || Ok(lab.model.since(before).iter().any(|turn| turn.results > 0)))?;
    let prompts = lab.prompts_since(before);
    let knows = prompts.iter().any(|turn| turn.context.contains("Read the whole plan"));
    ensure!(knows, "the ledger is not in its context");
    let at = lab.app.join(".shopfloor/worktrees/led").to_string_lossy().into_owned();
    lab.spawn_tmux(&["send-keys", "-t", "s:led", "-l", "/exit"])?;
    std::thread::sleep(Duration::from_secs(1));
    lab.spawn_tmux(&["send-keys", "-t", "s:led", "Enter"])?;
    let left = lab
        .until("the draft is committed", || Ok(lab.must("git", &["-C", &at, "show", "HEAD"])?.contains("Left word")));
    left.with_context(|| lab.spawn_tmux(&["capture-pane", "-p", "-t", "s:led"]).unwrap_or_default())?;
    Ok("read, and left word".into())
}

/// A permission that a person grants for good in one worktree arrives in the others.
fn permission(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if lab.trial.name() != "claude" {
        return Ok("not tried".into());
    }
    let local = ".claude/settings.local.json";
    let begin = format!(
        "mkdir -p .claude && echo '{{\"permissions\":{{\"defaultMode\":\"default\",\"allow\":[\"Read\"]}}}}' > {local} \
         && echo {local} >> .git/info/exclude && git worktree add -q ../other \
         && overlay-sync add {local} && overlay-sync attach . ../other"
    );
    lab.must("sh", &["-c", &begin])?;
    launch(lab, "ask", "MODEL run git tag one")?;
    lab.spawn_tmux(&["new-window", "-d", "-t", "s:", "-n", "watch", "overlay-sync watch"])?;
    let screen = || lab.spawn_tmux(&["capture-pane", "-p", "-t", "s:ask"]).unwrap_or_default();
    // The apostrophe is sometimes a typographic one.
    let asks = lab.until("it asks", || Ok(screen().contains("t ask again")));
    asks.with_context(|| format!("its screen:\n{}", screen()))?;
    let (other, begun) = (lab.app.with_file_name("other").join(local), Instant::now());
    let has_arrived = || -> Result<bool> {
        // It tells of a question before it takes keys.
        if screen().contains("t ask again") {
            lab.spawn_tmux(&["send-keys", "-t", "s:ask", "2"])?;
        }
        Ok(std::fs::read_to_string(&other)?.contains("git tag"))
    };
    let arrived = lab.until("the permission is in the other worktree", has_arrived);
    arrived.with_context(|| format!("its screen:\n{}", screen()))?;
    let text = std::fs::read_to_string(&other)?;
    ensure!(text.contains("\"Read\""), "a permission was lost: {text}");
    Ok(format!("in the other worktree after {}", seconds(begun.elapsed())))
}

/// `claude --worktree` makes its worktree with worktree-spawn, and works in it.
fn worktree(lab: &mut Lab<'_>, _: usize) -> Result<String> {
    if lab.trial.name() != "claude" {
        return Ok("has none".into());
    }
    let call =
        |event: &str| json!([{ "hooks": [{ "type": "command", "command": format!("worktree-spawn hook {event}") }] }]);
    let hooks = json!({ "WorktreeCreate": call("worktree-create"), "WorktreeRemove": call("worktree-remove") });
    let settings =
        json!({ "hooks": hooks, "permissions": { "allow": ["Bash(git:*)"] }, "enabledMcpjsonServers": ["shopfloor"] });
    std::fs::write(lab.app.join(".claude/settings.json"), settings.to_string())?;
    lab.must("git", &["add", "-A"])?;
    lab.must("git", &["commit", "-qm", "hooks"])?;
    let begun = Instant::now();
    let app = lab.app.to_string_lossy().into_owned();
    let line = "claude --worktree side 'MODEL run git tag begun-in-side'";
    lab.spawn_tmux(&["new-window", "-d", "-t", "s:", "-n", "side", "-c", &app, line])?;
    let worked = lab.until("its task is done", || Ok(lab.must("git", &["tag"])?.contains("begun-in-side")));
    worked.with_context(|| lab.spawn_tmux(&["capture-pane", "-p", "-t", "s:side"]).unwrap_or_default())?;
    let listed = lab.must("worktree-spawn", &["list", "--json"])?;
    ensure!(listed.contains("side"), "worktree-spawn does not know the worktree: {listed}");
    Ok(format!("worked in it after {}", seconds(begun.elapsed())))
}

/// Texts of seven kinds, always the same.
fn texts() -> Vec<(&'static str, String)> {
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut word = || -> String { (0..2 + random(8)).map(|_| char::from(b'a' + random(26) as u8)).collect() };
    let mut long = |size: usize, per_line: usize| {
        let mut text = String::new();
        while text.len() < size {
            let words: Vec<String> = (0..per_line).map(|_| word()).collect();
            text.push_str(&(words.join(" ") + "\n"));
        }
        text.trim_end().to_owned()
    };
    let shell = r#"-x; $(id) `id` %s #{pane_id} C-c Enter; \n 'a' "b" ~/x @README.md !ls /clear #tag"#;
    let scripts = "Grüße 日本語 emoji 👩‍👩‍👧‍👦 e\u{301} combining, rtl שלום, nbsp\u{a0}here, “quotes” — dash";
    vec![
        ("short", "Write a file.".to_owned()),
        ("lines", "First line\n\n\tafter a tab\n    after four blanks\n- a list\n- of two\n\nLast line.".to_owned()),
        ("scripts", scripts.to_owned()),
        ("shell characters", shell.to_owned()),
        ("5 KB", long(5 << 10, 9)),
        ("50 KB", long(50 << 10, 9)),
        ("one long line", long(8 << 10, 1200)),
    ]
}
