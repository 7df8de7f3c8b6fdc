//! worker-ctl: work that goes to a forge as a request, and comes back merged.

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::forge::Forge;
use crate::support::worker::{adopted_floor, by_hand, commit, head, staff, tip, tree, up};
use crate::support::world::{Repo, World, text, wait_for};

/// The commit of a branch in the bare repository, or nothing.
fn pushed(w: &World, branch: &str) -> String {
    let asked = Forge::bare(w).run("git", &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
    asked.any_status().any_err().stdout.trim_end().to_owned()
}

/// A worker in a worktree of its own, whose work waits for review, and the forge.
macro_rules! with_work {
    ($w:ident, $forge:ident, $floor:ident, $at:ident) => {
        let mut $w = World::new();
        let Some($forge) = Forge::start(&mut $w) else { return };
        let $floor = adopted_floor(&$w);
        $forge.take(&$floor.app);
        $floor.ctl(&["start", "adam", "--task", "think"]).succeeds().any_err();
        let $at = tree(&$floor, "adam");
        $at.write("a.txt", "one\n");
        $at.git(&["add", "a.txt"]);
        let message = "Say one\n\nBecause.\n\nCo-authored-by: Scripted <s@x>";
        $at.git(&["commit", "-q", "-m", message]);
        $floor.until("adam", "needs_review");
    };
}

#[test]
fn nothing_leaves_before_a_person_has_seen_it() {
    with_work!(w, forge, floor, at);
    let sha = head(&at);
    let shown = floor.ctl(&["request", "adam", "--draft"]).exit(3);
    for line in [
        &format!("push {sha} to the branch feature/adam of origin, which is git@github.com:o/r.git") as &str,
        "Ada <ada@example.org>\n    Say one\n    Because.\n    Co-authored-by: Scripted <s@x>\n   a.txt | 1 +",
        "its work was not checked\n  nobody has reviewed it\n",
        "make a draft of a request to o/r on github.com, into main: Say one",
        "nothing was pushed",
    ] {
        shown.err_has(line);
    }
    floor
        .root
        .run_with("worker-ctl", &["request", "adam", "--yes"], &[("WORKER_CTL_WORKER", "adam")])
        .exit(3)
        .any_err();
    let dry = floor.ctl(&["request", "adam", "-n"]).exit(0).any_err().stdout.clone();
    assert!(dry.starts_with("this would leave the machine:\n") && dry.contains("make a request to o/r"), "{dry}");
    let dry = floor.ctl(&["request", "adam", "-n", "--json"]).exit(0).any_err().json();
    assert_eq!((&dry["pushed"], &dry["created"], &dry["dry_run"]), (&json!(false), &json!(false), &json!(true)));
    assert_eq!((pushed(&w, "feature/adam"), forge.requests().len()), (String::new(), 0));

    let made = floor.ctl(&["request", "adam", "--draft", "--yes", "--json"]).exit(0).any_err().json();
    let url = "https://github.com/o/r/pull/100";
    assert_eq!((text(&made, "/url"), &made["number"], &made["pushed"]), (url, &json!(100), &json!(true)));
    let row = |args: &[&str]| {
        floor.ctl(&[&["status", "--json"], args].concat()).exit(0).any_err().json()["workers"][0]["request"].clone()
    };
    let keys = |row: &Value| ["number", "state", "ci", "review"].map(|key| row[key].clone());
    assert_eq!(keys(&row(&[])), [json!(100), json!("open"), json!("none"), json!("none")]);
    let [request] = &forge.requests()[..] else { panic!("{made}") };
    assert_eq!(pushed(&w, "feature/adam"), sha);
    let said = ["title", "body", "headRefName", "baseRefName"].map(|key| request[key].clone());
    assert_eq!(said, ["Say one", "Because.", "feature/adam", "main"].map(Value::from));
    assert_eq!(request["isDraft"], true);
    let git = |key: &str| floor.app.git(&["config", &format!("branch.feature/adam.{key}")]).trim_end().to_owned();
    assert_eq!((git("remote"), git("merge")), ("origin".into(), "refs/heads/feature/adam".into()));
    // It is there, so there is nothing to ask about.
    assert_eq!(floor.ctl(&["request", "adam"]).exit(0).any_err().stdout, format!("{url}\n"));
    assert_eq!(forge.requests().len(), 1);
    // From then on others have the branch.
    floor.app.commit("b.txt", "b\n");
    floor.ctl(&["rebase", "adam"]).exit(1).err_has("is others' too");

    // What the forge says of it is asked once a minute.
    forge.set(100, "headRefOid", sha.into());
    let told = row(&["--requests"]);
    assert_eq!(keys(&told), [json!(100), json!("open"), json!("passed"), json!("required")]);
    let asked = forge.asked().len();
    assert_eq!((row(&["--requests"]), row(&[])), (told.clone(), told));
    assert_eq!(forge.asked().len(), asked);
    floor.ctl(&["status"]).exit(0).out_has("request 100 open, checks passed, review required");
}

#[test]
fn only_what_was_pushed_from_here_is_replaced() {
    with_work!(w, forge, floor, at);
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_out().any_err();
    let old = head(&at);
    let amend = |text: &str| {
        at.write("a.txt", text);
        at.git(&["commit", "-q", "-a", "--amend", "-m", "Say two"]);
        floor.until("adam", "needs_review");
    };
    amend("two\n");
    let shown = floor.ctl(&["request", "adam"]).exit(3);
    shown.err_has(&format!("replace {old}, which was pushed before:")).err_has("1:  ");
    shown.err_has("the request https://github.com/o/r/pull/100 is open");
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/100");
    assert_eq!((pushed(&w, "feature/adam"), forge.requests().len()), (head(&at), 1));
    // Somebody else pushes there.
    let other = w.home("other");
    w.at(w.home("")).git(&["clone", "-q", "-b", "feature/adam", "forge/o/r.git", "other"]);
    let other = w.at(other);
    other.commit("c.txt", "theirs\n");
    other.git(&["push", "-q"]);
    amend("three\n");
    let never_saw = format!("has commits that adam never saw\n    {} Ada: c.txt\n  hint", &head(&other)[..7]);
    floor.ctl(&["request", "adam", "--yes"]).exit(1).err_has(&never_saw);
    assert_eq!(pushed(&w, "feature/adam"), head(&other));
    // Once its worker has them, it goes on.
    at.git(&["fetch", "-q", "origin"]);
    at.git(&["reset", "-q", "--hard", "origin/feature/adam"]);
    commit(&at, "Go on", &["d.txt"], "d\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(pushed(&w, "feature/adam"), head(&at));
}

#[test]
fn all_that_a_push_takes_along_is_shown() {
    with_work!(w, forge, floor, at);
    // The worker begins at a commit that nobody has pushed, and a ref here says that the remote has it.
    floor.app.commit("private.txt", "private\n");
    at.git(&["rebase", "-q", "main"]);
    floor.until("adam", "needs_review");
    floor.app.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let shown = floor.ctl(&["request", "adam"]).exit(3);
    shown.err_has("\n    private.txt\n   private.txt | 1 +").err_has("\n    Say one\n");
    // What others have pushed there meanwhile, which is not here, hides nothing and is not listed as what goes along.
    let elsewhere = w.home("elsewhere");
    w.at(w.home("")).git(&["clone", "-q", "forge/o/r.git", "elsewhere"]);
    let elsewhere = w.at(elsewhere);
    elsewhere.commit("theirs.txt", "theirs\n");
    elsewhere.git(&["push", "-q", "origin", "HEAD:main"]);
    let shown = floor.ctl(&["request", "adam"]).exit(3);
    shown.err_has("\n    private.txt\n");
    assert!(!shown.stderr.contains("README.md"), "{shown}");
    // Also what a merge brings.
    at.git(&["checkout", "-q", "-b", "side", "main"]);
    at.commit("side.txt", "side\n");
    at.git(&["checkout", "-q", "feature/adam"]);
    at.git(&["merge", "-q", "--no-ff", "-m", "Merge", "side"]);
    floor.until("adam", "needs_review");
    floor.ctl(&["request", "adam"]).exit(3).err_has("\n    side.txt\n   side.txt | 1 +");
    at.git(&["reset", "-q", "--hard", "HEAD^"]);
    floor.until("adam", "needs_review");
    // A branch there whose name only ends like this one's is another one.
    floor.app.git(&["push", "-q", "origin", &format!("{}:refs/heads/a/refs/heads/feature/adam", head(&at))]);
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/100");
    assert_eq!(pushed(&w, "feature/adam"), head(&at));
    // A push that goes elsewhere than the request takes along what is lacking there.
    floor.app.git(&["remote", "set-url", "--push", "origin", "git@github.com:fork/r.git"]);
    floor.ctl(&["request", "adam"]).exit(3).err_has("origin fetches from").err_has("\n    private.txt\n");
    floor.app.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    // An agent of `new NAME -- CMD` is no person, either.
    let agent = [("SHOPFLOOR_AGENT_ID", "main.x")];
    at.git(&["commit", "-q", "--amend", "-m", "Say two"]);
    floor.until("adam", "needs_review");
    floor.root.run_with("worker-ctl", &["request", "adam", "--yes"], &agent).exit(3).err_has("an agent asks for it");
    floor
        .root
        .run_with("worker-ctl", &["reject", "adam", "--from-request", "--yes"], &agent)
        .exit(3)
        .err_has("an agent asks for it");
    // A request that was closed stays so, also with another commit.
    forge.set(100, "headRefOid", pushed(&w, "feature/adam").into());
    forge.set(100, "state", "CLOSED".into());
    floor.ctl(&["request", "adam", "--yes"]).exit(1).err_has("request 100 of adam was closed");
    forge.set(100, "state", "OPEN".into());
    // git would go elsewhere with an address that it has given, and nobody makes a request elsewhere without a person.
    floor.app.git(&["config", "url.git@github.com:evil/.insteadOf", "git@github.com:o/"]);
    floor.app.git(&["config", "url.git@github.com:worse/.insteadOf", "git@github.com:evil/"]);
    floor
        .ctl(&["request", "adam", "--yes"])
        .exit(1)
        .err_has("git would rewrite the address git@github.com:evil/r.git again");
    floor.app.git(&["config", "--remove-section", "url.git@github.com:worse/"]);
    floor.app.git(&["config", "--remove-section", "url.git@github.com:evil/"]);
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/100");
    floor.app.git(&["remote", "set-url", "origin", "git@github.com:evil/r.git"]);
    w.at(w.home("forge")).sh("ln -s o evil").exit(0);
    floor.root.run_with("worker-ctl", &["request", "adam"], &agent).exit(3).err_has("an agent asks for it");
    floor.app.git(&["remote", "set-url", "origin", "git@github.com:o/r.git"]);
    floor.app.git(&["branch", "elsewhere", "main"]);
    floor.app.git(&["worktree", "add", "-q", "-b", "kid", "../kid", "main"]);
    floor.app.run("worker-ctl", &["add", "--worktree", "../kid", "--target", "elsewhere"]).succeeds().any_err();
    commit(&tree(&floor, "kid"), "Kid", &["k.txt"], "k\n");
    floor.ctl(&["patrol"]).succeeds().any_err();
    floor.ctl(&["request", "kid", "--yes"]).exit(1).err_has("there is no branch elsewhere at origin");
}

#[test]
fn a_push_that_is_refused_makes_no_request_and_one_that_was_cut_goes_on() {
    with_work!(w, forge, floor, at);
    let hook = |at: &Repo<'_>, name: &str, body: &str| {
        at.write(name, &format!("#!/bin/sh\n{body}\n"));
        at.sh(&format!("chmod +x {name}")).exit(0);
    };
    hook(&floor.app, ".git/hooks/pre-push", "touch ran; cat > pushed");
    hook(&Forge::bare(&w), "hooks/pre-receive", "echo 'not on a Friday'; exit 1");
    floor
        .ctl(&["request", "adam", "--yes"])
        .exit(1)
        .err_has("the push to origin was refused")
        .err_has("not on a Friday");
    assert!(floor.app.read("pushed").contains(&head(&at)));
    assert_eq!((pushed(&w, "feature/adam"), forge.requests().len()), (String::new(), 0));
    Forge::bare(&w).sh("rm hooks/pre-receive").exit(0);
    forge.refuse(true);
    let failed = floor.ctl(&["request", "adam", "--yes", "--json"]).exit(4).any_err().json();
    assert_eq!((&failed["pushed"], &failed["created"]), (&json!(true), &json!(false)), "{failed}");
    assert_eq!((text(&failed, "/sha"), text(&failed, "/branch")), (&*head(&at), "feature/adam"));
    assert!(text(&failed, "/error/message").contains("no requests today"), "{failed}");
    let failed = floor.ctl(&["request", "adam", "--yes"]).exit(4);
    failed.err_has("was pushed to origin, and no request was made").err_has("no requests today").err_has("goes on");
    assert_eq!((pushed(&w, "feature/adam"), forge.requests().len()), (head(&at), 0));
    forge.refuse(false);
    // Once it is there, that is said, whatever cannot be recorded here.
    std::fs::create_dir(floor.root.path.join("requests.json")).unwrap();
    floor.ctl(&["request", "adam", "--yes"]).exit(0).out_has("pull/100").err_has("the request of adam is there, but");
    assert_eq!(forge.requests().len(), 1);
}

#[test]
fn what_cannot_be_a_request_is_refused_before_anything_is_asked() {
    with_work!(w, forge, floor, at);
    at.write("a.txt", "dirty\n");
    floor.ctl(&["request", "adam", "--yes"]).exit(1).err_has("has uncommitted changes");
    at.git(&["checkout", "-q", "a.txt"]);
    floor.ctl(&["request", "adam", "--yes", "--title", "two\nlines"]).exit(2).err_has("one line");
    floor.app.git(&["remote", "set-url", "--add", "--push", "origin", "git@github.com:o/r.git"]);
    floor.app.git(&["remote", "set-url", "--add", "--push", "origin", "git@github.com:x/r.git"]);
    floor.ctl(&["request", "adam", "--yes"]).exit(1).err_has("goes to several places");
    floor.app.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    floor.app.git(&["remote", "set-url", "--push", "origin", "git@github.com:fork/r.git"]);
    floor.ctl(&["request", "adam"]).exit(3).err_has("origin fetches from git@github.com:o/r.git");
    floor.app.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    // What `gh repo set-default` has chosen may be a repository to which no remote leads.
    floor.app.git(&["remote", "set-url", "origin", "git@github.com:fork/r.git"]);
    floor.app.git(&["config", "remote.origin.gh-resolved", "o/r"]);
    let shown = floor.ctl(&["request", "adam"]).exit(3);
    shown.err_has("which is git@github.com:fork/r.git").err_has("make a request to o/r on github.com");
    floor.app.git(&["config", "--unset", "remote.origin.gh-resolved"]);
    floor.app.git(&["remote", "set-url", "origin", "/nowhere"]);
    floor.ctl(&["request", "adam", "--yes"]).exit(1).err_has("no remote of this repository leads to a forge");
    floor.app.git(&["remote", "set-url", "origin", "git@github.com:o/gone.git"]);
    floor.ctl(&["request", "adam", "--yes"]).exit(1).err_has("cannot reach git@github.com:o/gone.git");
    floor.app.git(&["remote", "set-url", "origin", "git@github.com:o/r.git"]);
    let without = [("PATH", w.path("bin").display().to_string() + ":/nowhere")];
    for program in ["git", "tmux", "sh"] {
        let _ = std::os::unix::fs::symlink(crate::support::world::which(program), w.path("bin").join(program));
    }
    let without = without.each_ref().map(|(name, value)| (*name, value.as_str()));
    floor.root.run_with("worker-ctl", &["request", "adam", "--yes"], &without).exit(1).err_has("apt install gh");
    assert_eq!((pushed(&w, "feature/adam"), forge.requests().len()), (String::new(), 0));
}

/// Merges the branch of a request into main of the bare repository as one commit, as a forge does.
fn squash(w: &World, forge: &Forge, number: u64, branch: &str) -> String {
    let bare = Forge::bare(w);
    let tree = bare.git(&["merge-tree", "--write-tree", "main", branch]).trim_end().to_owned();
    let new =
        bare.git(&["commit-tree", &tree, "-p", "main", "-m", &format!("Merged (#{number})")]).trim_end().to_owned();
    bare.git(&["update-ref", "refs/heads/main", &new]);
    bare.git(&["update-ref", &format!("refs/pull/{number}/head"), branch]);
    forge.set(number, "headRefOid", pushed(w, branch).into());
    forge.set(number, "state", "MERGED".into());
    new
}

#[test]
fn who_was_sent_back_stays_where_its_request_was_merged() {
    with_work!(w, forge, floor, at);
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_out().any_err();
    squash(&w, &forge, 100, "feature/adam");
    floor.ctl(&["reject", "adam", "Again."]).exit(0).any_out().any_err();
    floor.app.shopfloor(&["rm", "--merged"]).exit(1).any_out().err_has("adam stays: adam is rejected");
    assert!(at.path.is_dir());
}

#[test]
fn what_was_merged_there_is_taken_in_here() {
    with_work!(w, forge, floor, at);
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_out().any_err();
    let (mine, new) = (head(&at), squash(&w, &forge, 100, "feature/adam"));
    let before = tip(&floor);
    // A commit that nobody there has seen is not taken in.
    commit(&at, "More", &["more.txt"], "more\n");
    floor.until("adam", "needs_review");
    let beyond = "has commits beyond those that request 100 has merged";
    floor.ctl(&["accept", "adam"]).exit(1).err_has(beyond).err_has("More");
    let stays = floor.app.shopfloor(&["rm", "--merged"]).exit(1).any_out();
    assert!(stays.stderr.contains("stays: adam has commits") && !stays.stderr.contains("\\n"), "{stays}");
    // Nor where git cannot reach the forge.
    let accept = || floor.root.run_with("worker-ctl", &["accept", "adam"], &[("GIT_SSH_COMMAND", "false")]);
    accept().exit(1).err_has(beyond);
    forge.set(100, "headRefOid", "1".repeat(40).into());
    accept().exit(1).err_has("cannot fetch from git@github.com:o/r.git");
    // Nor while the ref of the request has an earlier commit there.
    floor.ctl(&["accept", "adam"]).exit(1).err_has("cannot be fetched yet");
    let stays = floor.app.shopfloor(&["rm", "--merged"]).exit(1).any_out();
    stays.err_has("adam stays: request 100 of adam was merged, and its last commit");
    forge.set(100, "headRefOid", mine.clone().into());
    at.git(&["reset", "-q", "--hard", &mine]);
    floor.until("adam", "needs_review");
    forge.set(100, "baseRefName", "release".into());
    let forget = || std::fs::remove_file(floor.root.path.join("requests.json")).unwrap();
    forget();
    floor.ctl(&["accept", "adam"]).exit(1).err_has("was merged into release, and its work is to land on main");
    forge.set(100, "baseRefName", "main".into());
    assert_eq!(tip(&floor), before);
    forget();
    floor.app.write("a.txt", "in the way\n");
    floor
        .ctl(&["accept", "adam", "--merged"])
        .exit(0)
        .any_out()
        .err_has("main stays where it is")
        .err_has("has changes in the way")
        .err_has("`git pull origin main`");
    assert_eq!((tip(&floor), text(&floor.status("adam"), "/task")), (before.clone(), "idle"));
    // It has landed, though not here.
    floor.ctl(&["nuke", "adam", "--worktree", "-n"]).exit(0).any_out().any_err();
    floor.app.sh("rm a.txt").exit(0);
    // Nothing is left to take in, and the branch is where it was.
    floor.ctl(&["accept", "adam", "--merged"]).exit(1).any_err();
    assert_eq!((head(&at), text(&floor.status("adam"), "/landed")), (mine.clone(), mine.as_str()));
    floor.app.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    assert_eq!(tip(&floor), new);
    // Work on top of it is another request.
    floor.ctl(&["start", "adam", "--task", "go on"]).succeeds().any_err();
    commit(&at, "Next", &["next.txt"], "next\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/101");
    assert_eq!(floor.app.git(&["log", "--format=%s", "origin/main..feature/adam"]), "Next\nSay one\n");
}

#[test]
fn a_worker_of_the_clone_makes_requests_too() {
    let mut w = World::new();
    let Some(forge) = Forge::start(&mut w) else { return };
    let floor = staff(&w, &["adam"]);
    forge.take(&floor.app);
    let at = by_hand(&floor, "adam", &[("a.txt", "one\n")]);
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_out().any_err();
    assert_eq!(pushed(&w, "worker/adam"), head(&at));
    floor.app.commit("b.txt", "b\n");
    floor.app.git(&["push", "-q", "origin", "main"]);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    // Nobody rebases what others have.
    assert_eq!(pushed(&w, "worker/adam"), head(&at));
    // Also if it was asked a moment before.
    floor.ctl(&["status", "--requests"]).exit(0).any_out().any_err();
    let new = squash(&w, &forge, 100, "worker/adam");
    let taken = floor.ctl(&["accept", "adam"]).exit(0);
    taken.out_has(&format!("{new}\n")).err_has("request 100 of adam was merged into main");
    assert_eq!((tip(&floor), head(&at), text(&floor.status("adam"), "/task")), (new.clone(), new, "idle"));
    // The next work on a branch of this name is other work.
    let at = by_hand(&floor, "adam", &[("c.txt", "c\n")]);
    assert!(!floor.ctl(&["status"]).exit(0).any_err().stdout.contains("request 100"));
    floor.ctl(&["request", "adam"]).exit(3).err_has("which was pushed before");
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/101");
    assert_eq!(pushed(&w, "worker/adam"), head(&at));
    // It lands here while its request is open; what comes then is known to come after it.
    floor.ctl(&["accept", "adam"]).exit(0).any_err().any_out();
    assert_eq!(floor.app.git(&["log", "-1", "--format=%s", "main"]), "c.txt\n");
    let at = by_hand(&floor, "adam", &[("d.txt", "d\n")]);
    floor.ctl(&["rebase", "adam"]).exit(0).any_out().any_err();
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/101");
    assert_eq!(pushed(&w, "worker/adam"), head(&at));
}

#[test]
fn accept_pushes_what_was_shown_and_nothing_that_came_between() {
    with_work!(w, forge, floor, at);
    floor.app.commit("mine.txt", "mine\n");
    floor.app.git(&["push", "-q", "origin", "main:wip"]);
    assert!(at.has("a.txt"));
    let shown = floor.ctl(&["accept", "adam", "--push"]).exit(3);
    shown.err_has("\n    mine.txt\n   mine.txt | 1 +").err_has("which is git@github.com:o/r.git");
    let before = pushed(&w, "main");
    let would = "would push main to origin, which is git@github.com:o/r.git, after asking";
    floor.ctl(&["accept", "adam", "--push", "-n"]).exit(0).any_err().out_has(would);
    assert_eq!((text(&floor.status("adam"), "/task"), pushed(&w, "main")), ("needs_review", before.clone()));
    floor.ctl(&["accept", "adam", "--push", "--yes"]).exit(0).any_out().err_has("main was pushed to origin");
    assert_ne!(pushed(&w, "main"), before);
    assert_eq!(pushed(&w, "main"), tip(&floor));
    assert!(forge.requests().is_empty());
    // What has landed is told, also where the remote refuses it.
    by_hand(&floor, "adam", &[("r.txt", "r\n")]);
    let bare = Forge::bare(&w);
    bare.write("hooks/pre-receive", "#!/bin/sh\nexit 1\n");
    bare.sh("chmod +x hooks/pre-receive").exit(0);
    let told = floor.ctl(&["accept", "adam", "--push", "--yes", "--json"]).exit(4).any_err().json();
    assert_eq!((text(&told, "/outcome"), text(&told, "/sha")), ("accepted", &*tip(&floor)));
    assert!(text(&told, "/error/message").contains("the push to origin was refused"), "{told}");
    bare.sh("rm hooks/pre-receive").exit(0);
    // Somebody commits to main after a person has seen what goes.
    let at = by_hand(&floor, "adam", &[("b.txt", "b\n")]);
    let (git, app) = (crate::support::world::which("git"), floor.app.path.display());
    let git = git.display();
    let late =
        format!("[ -e '{app}/late' ] || {{ touch '{app}/late'; '{git}' -C '{app}' commit -q --allow-empty -m late; }}");
    w.program("git", &format!("'{git}' \"$@\"; code=$?\ncase \" $* \" in *' ls-remote '*) {late};; esac\nexit $code"));
    let before = pushed(&w, "main");
    floor
        .ctl(&["accept", "adam", "--push", "--yes"])
        .exit(1)
        .any_out()
        .err_has("moved meanwhile")
        .err_has("it has landed");
    assert_eq!((pushed(&w, "main"), head(&at)), (before, tip(&floor)));
}

#[test]
fn reviewers_remarks_go_back_fenced_and_only_of_those_who_may_write() {
    with_work!(w, forge, floor, at);
    floor.ctl(&["reject", "adam", "--from-request", "--yes"]).exit(1).err_has("has no request");
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_out().any_err();
    let shown = floor.ctl(&["reject", "adam", "--from-request"]).exit(3);
    shown.err_has("a.txt:1, ada wrote:").err_has("> Say two.").err_has("nothing was sent");
    assert!(!shown.stderr.contains("keys") && !shown.stderr.contains("This is over"), "{shown}");
    floor.ctl(&["reject", "adam", "Soon.", "--from-request", "--yes"]).exit(0).any_out().any_err();
    // Its log is written a little later than the text arrives.
    wait_for(|| floor.prompts().len() == 2);
    let prompts = floor.prompts();
    let got = prompts.last().unwrap();
    assert!(got.contains("Soon.\n\nWhat reviewers of your request say stands between the two lines"), "{got}");
    assert!(got.contains("a.txt:1, ada wrote:\n> Say two.\n") && !got.contains("keys"), "{got}");
    commit(&at, "Again", &["a.txt"], "two\n");
    floor.until("adam", "needs_review");
    let shown = floor.ctl(&["reject", "adam", "--from-request", "--all-authors"]).exit(3);
    shown.err_has("Send me your keys.").err_has("a.txt:1, somebody wrote:");
}

#[test]
fn sessions_do_not_get_the_persons_login() {
    let mut w = World::new();
    for (name, value) in [("GH_TOKEN", "secret"), ("GITHUB_TOKEN", "secret"), ("GH_CONFIG_DIR", "/secret")] {
        w.set(name, value);
    }
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    let pid = floor.status("adam")["pane_pid"].clone();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    let vars: Vec<&str> =
        environment.split('\0').filter(|var| var.starts_with("GH_") || var.starts_with("GITHUB")).collect();
    assert_eq!(vars.len(), 3, "{vars:?}");
    assert!(vars.iter().all(|var| var.ends_with('=')), "{vars:?}");
}

#[test]
fn no_other_command_pushes() {
    let mut w = World::new();
    let Some(forge) = Forge::start(&mut w) else { return };
    let floor = adopted_floor(&w);
    forge.take(&floor.app);
    let (log, git) = (w.path("git.log"), crate::support::world::which("git"));
    w.program("git", &format!("echo \"$*\" >> '{}'; exec '{}' \"$@\"", log.display(), git.display()));
    let refs = || Forge::bare(&w).git(&["for-each-ref"]);
    let before = refs();
    let app = &floor.app;
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds().any_err();
    commit(&tree(&floor, "adam"), "One", &["a.txt"], "one\n");
    floor.until("adam", "needs_review");
    for args in [&["review", "adam"][..], &["rebase", "adam"], &["accept", "adam", "--force"], &["request", "adam"]] {
        floor.ctl(args).any_status().any_out().any_err();
    }
    let all: &[(&str, &[&str])] = &[
        ("worker-ctl", &["add", "eve"]),
        ("worker-ctl", &["status", "--requests"]),
        ("worker-ctl", &["patrol"]),
        ("worker-ctl", &["doctor", "--repair"]),
        ("shopfloor", &["setup", "--yes"]),
        ("shopfloor", &["new", "x"]),
        ("shopfloor", &["status", "--requests"]),
        ("shopfloor", &["doctor"]),
        ("worktree-spawn", &["list", "--status"]),
        ("worktree-spawn", &["gc"]),
        ("overlay-sync", &["sync"]),
        ("sweatfile-apply", &["apply"]),
        ("ledger-synth", &["synth"]),
        ("shopfloor", &["rm", "x"]),
    ];
    for (tool, args) in all {
        app.run(tool, args).any_status().any_out().any_err();
    }
    let ran = std::fs::read_to_string(&log).unwrap();
    let is_push = |line: &&str| line.split(' ').any(|word| ["push", "send-pack"].contains(&word));
    assert_eq!((ran.lines().find(is_push), refs()), (None, before));
    assert!(ran.contains("merge --quiet") && ran.contains("--ff-only"), "something has landed");
}
