//! What set-up commands inherit: a person's environment whole, less what leads into another worktree.

use crate::support::world::{Repo, World, needs};

/// The variables that set-up saw in this worktree.
fn seen(at: &Repo<'_>) -> Vec<String> {
    at.read("seen").lines().map(str::to_owned).collect()
}

#[test]
fn setup_inherits_nothing_that_leads_into_another_worktree() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"env > seen\"]\n");
    let (other, here) = (app.worktree("other"), app.worktree("here"));
    let main = app.path.display().to_string();
    let path = app.sh("printf %s \"$PATH\"").exit(0).stdout.clone();
    for from in [main, other.path.display().to_string()] {
        let vars = [
            ("VIRTUAL_ENV", format!("{from}/.venv")),
            ("VIRTUAL_ENV_PROMPT", "app".into()),
            ("UV_PROJECT_ENVIRONMENT", format!("{from}/.venv")),
            ("CONDA_PREFIX", format!("{from}/.conda")),
            ("CONDA_SHLVL", "1".into()),
            ("BUNDLE_GEMFILE", format!("{from}/Gemfile")),
            ("GEM_HOME", format!("{from}/vendor")),
            ("INIT_CWD", from.clone()),
            ("NODE_PATH", format!("{from}/node_modules")),
            ("PYTHONPATH", format!("/opt/py:{from}/src:{}/lib", here.path.display())),
            ("DIRENV_DIR", format!("-{from}")),
            ("DIRENV_DIFF", "eJxx".into()),
            ("DIRENV_LOG_FORMAT", "mine".into()),
            ("MY_PROJECT", from.clone()),
            ("PATH", format!("{from}/.venv/bin:{path}:{from}/node_modules/.bin")),
        ];
        let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
        here.run_with("sweatfile-apply", &["--setup-again"], &vars).succeeds();
        let seen = seen(&here);
        let leads = seen.iter().filter(|line| line.contains(&*from) && !line.starts_with("SWEATFILE_"));
        let leads: Vec<&String> = leads.collect();
        assert_eq!(leads, [&format!("MY_PROJECT={from}")]);
        for gone in ["VIRTUAL_ENV_PROMPT", "CONDA_SHLVL", "DIRENV_DIFF"] {
            assert!(!seen.iter().any(|line| line.starts_with(&format!("{gone}="))), "{gone}: {seen:?}");
        }
        let python = format!("PYTHONPATH=/opt/py:{}/lib", here.path.display());
        for kept in [python, format!("PATH={path}"), "DIRENV_LOG_FORMAT=mine".into()] {
            assert!(seen.contains(&kept), "{kept}: {seen:?}");
        }
    }
}

#[test]
fn setup_keeps_what_lies_in_its_own_worktree_or_in_none() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"env > seen\"]\n");
    app.sh("git worktree add -q inner; ln -s eng ~/link").succeeds();
    let inner = w.at(app.path.join("inner"));
    let outside = w.home("venvs/tool");
    // The worktree lies below the main checkout, and may be named by another path.
    for own in [inner.path.join(".venv"), w.home("link/repos/app/inner/.venv"), outside] {
        std::fs::create_dir_all(&own).unwrap();
        let own = own.to_str().unwrap();
        inner.run_with("sweatfile-apply", &["--setup-again"], &[("VIRTUAL_ENV", own)]).succeeds();
        assert!(seen(&inner).contains(&format!("VIRTUAL_ENV={own}")), "{own}");
    }
    let linked = w.home("link/repos/app/.venv");
    std::fs::create_dir_all(&linked).unwrap();
    inner.run_with("sweatfile-apply", &["--setup-again"], &[("VIRTUAL_ENV", linked.to_str().unwrap())]).succeeds();
    assert!(!inner.read("seen").contains("VIRTUAL_ENV"));
}

#[test]
fn a_home_that_is_a_repository_is_no_reason_to_drop_its_programs() {
    let w = World::new();
    let home = w.repo("");
    home.sh("git worktree add -q ../work").succeeds();
    let work = w.at(w.path("work"));
    work.sh("echo 'setup = [\"env > seen\"]' > ../home/sweatfile").exit(0);
    let path = format!("{}:{}", w.home(".local/bin").display(), w.path("bin").display());
    work.run_with("sweatfile-apply", &["--yes"], &[("PATH", &format!("{path}:/usr/local/bin:/usr/bin:/bin"))])
        .succeeds();
    assert!(work.read("seen").contains(&format!("PATH={path}")), "{}", work.read("seen"));
}

#[test]
fn setup_does_not_get_what_direnv_loaded_in_another_worktree() {
    if !needs("direnv") {
        return;
    }
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"env > seen\"]\n");
    let here = app.worktree("here");
    app.write(".envrc", "export DATABASE_URL=main OWN=main\nPATH_add tools\n");
    app.sh("direnv allow .").exit(0).any_err();
    let load =
        "export OWN=before; eval \"$(direnv export bash)\"; echo $DATABASE_URL $OWN; sweatfile-apply -q -C ../here";
    let out = app.run("bash", &["-c", load]).exit(0).any_err();
    out.out_has("main main");
    let seen = seen(&here);
    assert!(seen.contains(&"OWN=before".to_owned()), "{seen:?}");
    assert!(!seen.iter().any(|line| line.starts_with("DATABASE_URL=") || line.starts_with("DIRENV_")), "{seen:?}");
    assert!(!seen.iter().any(|line| line.starts_with("PATH=") && line.contains("/app/tools")), "{seen:?}");
}

#[test]
fn setup_and_our_own_git_obey_configuration_from_the_environment() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"git config agent.name > seen; git rev-parse --show-toplevel >> seen\"]\n");
    app.apply(&["hook", "install"]).succeeds();
    let vars = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "agent.name"), ("GIT_CONFIG_VALUE_0", "ada")];
    let there = |at: &Repo<'_>| format!("ada\n{}\n", at.path.display());
    let (a, b, c) = (app.worktree("a"), w.home("eng/repos/b"), w.home("eng/repos/c"));
    a.run_with("sweatfile-apply", &["--setup-again"], &vars).succeeds();
    assert_eq!(a.read("seen"), there(&a));
    app.run_with("git", &["worktree", "add", "-q", b.to_str().unwrap()], &vars).succeeds();
    assert_eq!(w.at(&b).read("seen"), there(&w.at(&b)));
    app.git(&["-c", "agent.name=ada", "worktree", "add", "-q", c.to_str().unwrap()]);
    assert_eq!(w.at(&c).read("seen"), there(&w.at(&c)));
    let agent = ["subtree", "d", "--", "git", "config", "agent.name"];
    app.run_with("worktree-spawn", &agent, &vars).exit(0).any_err().out_has("ada");
    // A file is ignored if git says so in this environment.
    let ignore = w.home("ignore");
    std::fs::write(&ignore, "seen\n.env\n").unwrap();
    let excludes =
        [vars[0], ("GIT_CONFIG_KEY_0", "core.excludesFile"), ("GIT_CONFIG_VALUE_0", ignore.to_str().unwrap())];
    app.write(".worktreeinclude", ".env\n");
    app.write(".env", "A=1\n");
    a.run_with("sweatfile-apply", &[], &excludes).succeeds();
    assert_eq!(a.read(".env"), "A=1\n");
    // What redirects git to another repository is dropped, and no program of the environment runs in our calls.
    w.program("evil", "touch ~/evil");
    let evil = [vars[0], ("GIT_CONFIG_KEY_0", "core.fsmonitor"), ("GIT_CONFIG_VALUE_0", "evil")];
    let other = w.repo("eng/repos/other");
    let git_dir = other.path.join(".git");
    let redirected = [&evil[..], &[("GIT_DIR", git_dir.to_str().unwrap())]].concat();
    other.run_with("sweatfile-apply", &["-C", "../a", "check"], &redirected).any_status().any_out().any_err();
    assert!(!w.home("evil").exists());
}
