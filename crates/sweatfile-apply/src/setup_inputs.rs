//! Which files setup commands use: those that they name, and those that their programs read by themselves.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use shopfloor_core::path::RelPath;
use shopfloor_core::text::is_like;

/// Programs, and the names of files and directories that tell them what to run, to load or to fetch, or in which they find
/// programs. Upper and lower case are the same, and `*` stands for anything.
const READERS: &[(&str, &str)] = &[
    ("direnv", ".envrc .env .sweatshop-env"),
    ("mise rtx asdf proto moon", "mise* .mise* .tool-versions .prototools .moon"),
    (
        "npm npx pnpm pnpx yarn bun bunx corepack nx turbo lerna rush ni nr wireit wsrun",
        "nx.json turbo.json lerna.json rush.json package.json package.json5 package.yaml binding.gyp *.gypi package-lock.json npm-shrinkwrap.json .npmrc yarn.lock .yarn* pnpm-* .pnpmfile* .pnp.* bun.lock* bunfig.toml",
    ),
    ("deno", "deno.* package.json"),
    // What `npm run` and the like find before everything else: an agent may have put programs there.
    ("npm npx pnpm pnpx yarn bun bunx", "node_modules/.bin"),
    ("uv poetry pdm hatch rye pipenv", ".venv/bin"),
    (
        "lefthook husky pre-commit prek simple-git-hooks lint-staged commitlint overcommit hk",
        "lefthook* .lefthook* .husky .pre-commit-* prek.toml package.json .simple-git-hooks* simple-git-hooks* .lintstagedrc* .overcommit.yml hk.pkl",
    ),
    ("gulp grunt vite vitest eslint prettier stylelint jest webpack rollup babel", "gulpfile* gruntfile* package.json"),
    (
        "uv uvx pip pip3 pip-compile pip-sync pipx poetry pdm hatch rye pipenv tox nox conda mamba micromamba pixi pytest invoke inv fab",
        "conftest.py pytest.ini .python-version tasks tasks.py build.py fabfile* pixi.* pyproject.toml setup.py setup.cfg requirements* *requirements.txt constraints* *constraints.txt uv.* poetry.* pdm.* hatch* pipfile* tox.ini noxfile.py environment.y*",
    ),
    ("pip-compile pip-sync tox conda mamba micromamba", REQUIREMENTS),
    ("make gmake", "makefile* gnumakefile* bsdmakefile* *.mk"),
    ("just", "justfile .justfile *.just"),
    ("task go-task mask doit", "taskfile* maskfile* dodo.py"),
    ("overmind foreman hivemind honcho goreman nf", "procfile* .overmind.env .foreman .env"),
    ("brew", "brewfile*"),
    ("carthage xcodegen danger mint tuist", "cartfile* project.y*ml dangerfile* mintfile project.swift tuist*"),
    ("mage", "magefile*"),
    ("lake", "lakefile* lean-toolchain"),
    ("buck buck2", ".buckconfig* buck* *.bzl"),
    ("cake", "cakefile* *.cake"),
    ("autoreconf autoconf automake aclocal", "configure.* *.m4 makefile.am"),
    ("buf", "buf.* buf.gen*"),
    ("pulumi cdk", "pulumi* cdk.json"),
    ("knex drizzle-kit graphql-codegen prisma", "knexfile* drizzle.* codegen* schema.prisma prisma*"),
    ("alembic sphinx-build mkdocs snakemake dvc", "alembic.ini env.py conf.py mkdocs.yml snakefile dvc.yaml"),
    ("flask", "app.py wsgi.py __init__.py env.py .flaskenv .env"),
    ("ng", "angular.json .angular.json package.json"),
    ("gdb lldb", ".gdbinit .lldbinit *-gdb.py"),
    ("tmuxinator smug tmuxp mprocs process-compose", ".tmuxinator* .smug* .tmuxp* mprocs* process-compose*"),
    ("cabal stack", "*.cabal cabal.project* stack.yaml package.yaml setup.hs setup.lhs"),
    ("rebar rebar3 nimble nim shards", "rebar.* *.nimble *.nims shard.*"),
    (
        "bundle bundler gem rake rails pod fastlane cap guard thor",
        "gemfile* gems.* *.gemspec .bundle rakefile* *.rake .ruby-version boot.rb podfile* *.podspec fastfile capfile guardfile thorfile",
    ),
    ("rails", "config db"),
    ("cargo rustup", "cargo.* .cargo build.rs rust-toolchain*"),
    ("go", "go.mod go.sum go.work*"),
    ("composer", "composer.*"),
    ("cpanm carton perl", "cpanfile* makefile.pl build.pl"),
    ("prove", "*.t *.pm .proverc"),
    (
        "gradle gradlew mvn mvnw ant sbt lein clojure clj mill",
        "build.xml *.sbt .sbtopts .jvmopts project *.gradle *.gradle.kts gradle buildsrc gradle.properties pom.xml .mvn project.clj deps.edn build.sc build.mill* .mill*",
    ),
    (
        "docker docker-compose podman podman-compose tilt skaffold earthly act helm",
        "dockerfile* containerfile* docker-compose* docker-bake* compose.* .env tiltfile earthfile .actrc chart.*",
    ),
    ("act gitlab-ci-local circleci woodpecker-cli", ".github .gitea .forgejo .gitlab* .circleci .woodpecker*"),
    // What the files that these read list, by whatever name.
    ("kubectl oc kustomize skaffold helm helmfile", "*.yaml *.yml *.tpl *.gotmpl kustomization"),
    ("nix nix-shell nix-build devenv devbox", "*.nix flake.lock devenv.* devbox.*"),
    (
        "cmake meson ninja scons conan xmake premake5 waf",
        "cmakelists.txt *.cmake cmake*presets.json meson* *.ninja sconstruct* sconscript* site_scons conanfile* xmake.lua premake5.lua wscript",
    ),
    ("bazel bazelisk", "bazel *.bazelrc .bazeliskrc .bazelversion workspace* module.bazel* build build.bazel *.bzl"),
    ("pants", "build build.* pants* .pants* *.lock requirements* *requirements.txt pyproject.toml"),
    ("please plz pleasew", "build build.plz *.build_defs *.build_def *.plz .plzconfig*"),
    ("terraform tofu", "*.tf *.tf.json *.tfvars .terraform* terraform.d"),
    ("ansible ansible-playbook ansible-galaxy", "ansible.cfg requirements.y*"),
    (
        "dotnet msbuild nuget",
        "*.cake *.csproj *.fsproj *.vbproj *.vcxproj *.esproj *.sqlproj *.wixproj *.proj *.user *.rsp *.sln *.slnx *.slnf *.props *.targets packages.config nuget.config global.json dotnet-tools.json",
    ),
    (
        "mix dart flutter zig vagrant swift R Rscript julia opam dune",
        "mix.* config.exs pubspec.* build.zig* vagrantfile package.swift .rprofile .renviron project.toml *.opam dune*",
    ),
    ("git", ".gitmodules .lfsconfig"),
];

/// Commands that compile what they find and run it, with those files.
const RUNNERS: &[(&str, &str)] = &[
    ("go run", "*.go"),
    ("go test", "*.go"),
    ("go generate", "*.go"),
    ("cargo run", "*.rs"),
    ("cargo test", "*.rs"),
    ("cargo nextest", "*.rs"),
    ("cargo bench", "*.rs"),
    ("node .", "index.*js package.json"),
];

/// What Perl and Ruby load from a directory that a command has them search: a module there takes the place of any other.
const MODULES: &str = "*.pm *.pmc *.pl *.rb *.so";

/// The directories of that table that are known only together with the one above them.
pub const PROGRAM_DIRS: [&str; 2] = ["node_modules/.bin", ".venv/bin"];

/// The names that files of requirements have. With `-r` and `-c` one includes others, and only its text tells which.
const REQUIREMENTS: &str = "*.txt *.in";

const WILD: [char; 4] = ['*', '?', '[', ']'];

/// Words before a directory of which nothing runs by that.
const NO_USE: [&str; 6] = ["cd", "pushd", "-C", "--prefix", "--cwd", "-d"];

/// The files that these commands use. A file is named by its base name alone, because a command may change the
/// directory; without its ending, because many programs add one; and by a directory above it, of which programs run
/// what they find.
pub fn used<'p>(commands: &[String], files: &'p [RelPath]) -> Vec<&'p RelPath> {
    let commands = commands.iter().map(|command| without_outputs(command));
    let commands: Vec<String> = commands.flat_map(|command| [joined(&command), command]).collect();
    let is_named = |name: &str| commands.iter().any(|command| mentions(command, name));
    let read = READERS.iter().filter(|(programs, _)| programs.split(' ').any(is_named));
    let run = RUNNERS.iter().filter(|(command, _)| is_named(command));
    let mut patterns: Vec<String> = read.chain(run).map(|(_, files)| (*files).to_owned()).collect();
    patterns.extend(commands.iter().flat_map(|command| wild_words(command)));
    patterns.extend(commands.iter().any(|command| searches_modules(command)).then(|| MODULES.to_owned()));
    patterns.extend(commands.iter().any(|command| reads_requirements(command)).then(|| REQUIREMENTS.to_owned()));
    let names: BTreeSet<&str> = commands.iter().flat_map(|command| names(command)).collect();
    // What most programs for JavaScript read: `vite.config.ts` is vite's, `.eslintrc.cjs` eslint's.
    patterns.extend(names.iter().map(|name| format!("{0}.config.* .{0}rc*", name.to_lowercase())));
    let python = directories_of_python(&commands);
    let is_wild = commands.iter().any(|command| words(command).any(|word| word.rsplit('/').next() == Some("*")));
    let is_used = |path: &&RelPath| {
        let (path, name) = (path.as_path(), path.name().to_string_lossy());
        let has = |part: &OsStr| part.to_str().is_some_and(|part| names.contains(part));
        let fits_any = |part: &str| patterns.iter().any(|pattern| is_like(part, pattern));
        let dir = path.parent().and_then(Path::file_name).map(OsStr::to_string_lossy);
        is_named(&name)
            || path.file_stem().is_some_and(has)
            || path.iter().rev().skip(1).any(has)
            || is_wild && dir.is_none_or(|dir| is_named(&dir))
            || path.iter().any(|part| fits_any(&part.to_string_lossy().to_lowercase()))
            || python.as_ref().is_some_and(|dirs| is_found_by_python(path, dirs))
            || PROGRAM_DIRS.iter().any(|dir| fits_any(dir) && path.ancestors().any(|above| above.ends_with(dir)))
    };
    files.iter().filter(is_used).collect()
}

/// The files that values of variables name as paths, from the worktree: `sh $X` runs one, and programs obey `PYTHONPATH` or
/// `BASH_ENV` that no command names.
pub fn named_by<'v, 'p>(
    variables: impl Iterator<Item = (&'v str, &'v str)>,
    files: &'p [RelPath],
) -> impl Iterator<Item = &'p RelPath> {
    let is_of_paths = |name: &str| ["PATH", "DIR", "FILE", "BASH_ENV"].iter().any(|part| name.contains(part));
    let paths = |(name, value): (&str, &str)| -> Vec<RelPath> {
        let words = value.split(|c: char| c.is_whitespace() || ":'\"".contains(c));
        let words = words.map(|word| word.trim_start_matches("{worktree}/").trim_start_matches("./"));
        // A word alone is mostly no path, as in `NODE_ENV=test`.
        let meant = words.filter(|word| word.contains(['/', '.']) || is_of_paths(name));
        meant.filter_map(|word| RelPath::parse(word.trim_end_matches('/')).ok()).collect()
    };
    let named: BTreeSet<RelPath> = variables.flat_map(paths).collect();
    files.iter().filter(move |file| named.iter().any(|path| path == *file || path.is_parent_of(file)))
}

/// The directories in which Python looks for modules before its own, if one of the commands runs it: the current one, also
/// after `cd`, and that of a script. A module there takes the place of any other.
fn directories_of_python(commands: &[String]) -> Option<BTreeSet<&str>> {
    let parts = || commands.iter().flat_map(|command| words(command)).flat_map(|word| word.split('/'));
    commands.iter().any(|command| runs_python(command)).then(|| parts().collect())
}

fn runs_python(command: &str) -> bool {
    runs(command, &["python", "pypy", "django-admin"])
}

/// Whether Perl or Ruby looks for modules in more than its own directories.
fn searches_modules(command: &str) -> bool {
    let names_more = ["-Mlib", "lib", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT"];
    let is_search = |word: &str| word.starts_with('-') && word.contains('I') || names_more.contains(&word);
    runs(command, &["perl", "ruby"]) && words(command).any(is_search)
}

/// Whether pip or uv reads a file of requirements.
fn reads_requirements(command: &str) -> bool {
    // Other switches of one letter may stand before it.
    let is_short = |word: &str| {
        word.strip_prefix('-').is_some_and(|rest| rest.trim_start_matches(['q', 'v', 'n', 'U', 'I']).starts_with('r'))
    };
    runs(command, &["pip", "uv"]) && words(command).any(|word| is_short(word) || is_like(word, "*.txt *.in --req*"))
}

/// Whether a command runs one of these programs, of whatever version.
fn runs(command: &str, programs: &[&str]) -> bool {
    let mut names = words(command).filter_map(|word| word.rsplit('/').next());
    names.any(|name| programs.iter().any(|program| name.starts_with(program)))
}

fn is_found_by_python(path: &Path, dirs: &BTreeSet<&str>) -> bool {
    let is_module = path.extension().is_some_and(|end| ["py", "pyc", "so"].iter().any(|module| end == *module));
    let is_searched =
        |dir: &Path| dir.file_name().is_none_or(|name| name.to_str().is_some_and(|name| dirs.contains(name)));
    let is_package = path.file_stem().is_some_and(|stem| stem == "__init__");
    let mut above = path.ancestors().skip(1);
    is_module && (above.next().is_some_and(is_searched) || is_package && above.next().is_some_and(is_searched))
}

/// The command without the files that it writes to: `log` of `make >>log`.
fn without_outputs(command: &str) -> String {
    let (first, rest) = command.split_once('>').unwrap_or((command, ""));
    rest.split('>').fold(first.to_owned(), |text, part| {
        let part = part.trim_start();
        let end = part.find(|c: char| c.is_whitespace() || ";&|()".contains(c)).unwrap_or(part.len());
        text + " " + &part[end..]
    })
}

/// The command without quotes: the shell makes one word of `tools/""x.sh`.
fn joined(command: &str) -> String {
    command.replace("\\\n", "").replace(['"', '\'', '\\'], "")
}

fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split(|c: char| c.is_whitespace() || "\"'`;&|()<>={}$".contains(c)).filter(|word| !word.is_empty())
}

/// The last part of each word that may name a directory, or a file without its ending. After `-m`, and in what Python
/// runs, it may be a module.
fn names(command: &str) -> Vec<&str> {
    let before = [""].into_iter().chain(words(command));
    let used = before.zip(words(command)).filter(|(before, _)| !NO_USE.contains(before));
    let is_python = runs_python(command);
    let parts = used.flat_map(|(before, word)| {
        let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let module = last.strip_prefix("-m").unwrap_or(last).split('.').filter(|part| !part.is_empty());
        std::iter::once(last).chain(module.filter(move |_| is_python || before == "-m"))
    });
    parts.collect()
}

/// Whether a command contains this name as a whole.
fn mentions(command: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    command
        .match_indices(name)
        .any(|(at, _)| !command[..at].ends_with(is_part) && !command[at + name.len()..].starts_with(is_part))
}

/// The last part of each word with wildcards that is not only wildcards, as a pattern: `*.sh` of `tools/*.sh`, `tools` of
/// `tools/*`.
fn wild_words(command: &str) -> Vec<String> {
    let parts = words(command)
        .filter(|word| word.contains(WILD))
        .filter_map(|word| word.rsplit('/').find(|part| part.contains(char::is_alphanumeric)));
    let pattern = |part: &str| match (part.find(WILD), part.rfind(WILD)) {
        (Some(first), Some(last)) => format!("{}*{}", &part[..first], &part[last + 1..]),
        _ => part.to_owned(),
    };
    parts.map(|part| pattern(&part.to_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(command: &str, path: &str) -> bool {
        !used(&[command.to_owned()], &[RelPath::parse(path).unwrap()]).is_empty()
    }

    #[test]
    fn a_file_is_used_if_a_command_names_it_in_any_way() {
        for command in [
            "bash ./x.sh",
            "a/../x.sh",
            "cd tools && ./x.sh",
            ". ./x.sh",
            "sh -c 'tools/x.sh --all'",
            "D=tools; $D/x.sh",
            "RUN=./x.sh; $RUN",
            "sh <tools/x.sh",
            "\"$PWD/tools/x.sh\"",
            "for f in tools/*.sh; do . $f; done",
            "run-parts tools/*",
            "sh ./[xy].sh",
            "cat tools/x.sh|sh",
            "run-parts ./tools/",
            "find tools -type f -exec sh {} +",
            "cd tools && for f in *; do sh $f; done",
            "python3 -m tools.other",
            "python3 -mtools.other",
            "python3 -c 'import tools.x'",
            "sh tool\"\"s/'x'.\\sh",
            "sh -c 'tools/x.'sh",
            "node tools/x",
            "x=x; sh tools/$x.sh",
        ] {
            assert!(uses(command, "tools/x.sh"), "{command}");
        }
        for command in [
            "./x.sh.old",
            "./xx.sh",
            "cd tools && ls",
            "[ -d tools ] && echo",
            "echo 'y .sh'",
            "make -C tools",
            "ls >>tools/x.sh; ls > x.sh",
        ] {
            assert!(!uses(command, "tools/x.sh"), "{command}");
        }
        assert!(uses("sh 'tools/set up.sh'", "tools/set up.sh") && uses("sh é.sh", "é.sh"));
    }

    #[test]
    fn a_program_reads_its_own_files_wherever_they_are() {
        for (command, path) in [
            ("mise trust", ".config/mise/config.toml"),
            ("mise trust -y", "mise.local.toml"),
            ("asdf install", ".tool-versions"),
            ("cd web && npm ci", "web/package.json"),
            ("corepack enable; yarn", ".yarn/releases/yarn.cjs"),
            ("pip install -e .", "setup.py"),
            ("python -m pip install -r dev.txt", "requirements/dev.txt"),
            ("python -m pip install -qr \"$R\"", "deps/base.txt"),
            ("/usr/bin/pip3.11 install --requirement=\"$R\"", "base.in"),
            ("uv pip install -nr \"$R\"", "con.txt"),
            ("pip-compile", "base.in"),
            ("pip install -e .", "dev-requirements.txt"),
            ("conda env create", "deps.txt"),
            ("uv sync", "uv.lock"),
            ("make -C sub all", "sub/GNUmakefile"),
            ("just setup", "JUSTFILE"),
            ("lefthook install", ".lefthook.toml"),
            ("bundle", "Gemfile.lock"),
            ("cargo build", "x/build.rs"),
            ("/usr/bin/make", "rules.mk"),
            ("git submodule update --init", ".gitmodules"),
            ("bazel run //x", ".bazelrc"),
            ("bazel build //...", "BUILD"),
            ("bazelisk build //...", "tools/BUILD"),
            ("bazelisk build //...", "tools/bazel"),
            ("pants package ::", "src/BUILD"),
            ("please build", "BUILD.plz"),
            ("plz build", "x/BUILD"),
            ("kubectl apply -k .", "base/deployment.yml"),
            ("helm install x .", "templates/_helpers.tpl"),
            ("msbuild", "Directory.Build.targets"),
            ("msbuild -t:restore", "a/App.vcxproj"),
            ("act", ".github/workflows/ci.yml"),
            ("dotnet build", "a/App.csproj"),
            ("npm ci", "binding.gyp"),
            ("uv sync", ".python-version"),
            ("invoke setup", "tasks/__init__.py"),
            ("Rscript -e 1", ".Rprofile"),
            ("python3 -m tools.setup", "setup.py"),
            ("python3 -m venv .venv", "logging.py"),
            ("/usr/bin/python3.11 -c 1", "json/__init__.py"),
            ("cd web && python -m venv x", "web/os.py"),
            ("python tools/x.py", "tools/y.py"),
            ("yarn", ".pnp.cjs"),
            ("PERL5OPT=-Mfoo perl x", "foo.pm"),
            ("/usr/bin/perl5.36 -wIlib x", "lib/A/B.pm"),
            ("perl -Mlib=. x", "Carp.pm"),
        ] {
            assert!(uses(command, path), "{command}: {path}");
        }
    }

    #[test]
    fn a_file_that_no_program_of_the_command_reads_is_none_of_its_own() {
        for (command, path) in [
            ("npm-check", "package.json"),
            ("remake", "Makefile"),
            ("pip install -e .", "notes.txt"),
            ("uv sync", "notes.txt"),
            ("CFLAGS=-march=native pip install .", "notes.txt"),
            ("cat dev.txt", "base.txt"),
            ("npm ci", "src/index.js"),
            ("python3 -m venv .venv", "src/x.py"),
            ("perl -pi -e s/a/b/ x", "Foo.pm"),
            ("ruby x.rb", "y.rb"),
        ] {
            assert!(!uses(command, path), "{command}: {path}");
        }
    }
}
