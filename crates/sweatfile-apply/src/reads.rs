//! Which files setup commands use: those that they name, and those that their programs read by themselves.

use shopfloor_core::path::RelPath;

/// Programs, and the names of files and directories that tell them what to run, to load or to fetch. Upper and lower case
/// are the same, and `*` stands for anything.
const READERS: &[(&str, &str)] = &[
    ("direnv", ".envrc .env .sweatshop-env"),
    ("mise rtx asdf", "mise* .mise* .tool-versions"),
    (
        "npm npx pnpm pnpx yarn bun bunx corepack",
        "package.json package-lock.json npm-shrinkwrap.json .npmrc yarn.lock .yarn* pnpm-* .pnpmfile* bun.lock* bunfig.toml",
    ),
    ("deno", "deno.* package.json"),
    ("lefthook husky pre-commit prek", "lefthook* .lefthook* .husky .pre-commit-* prek.toml package.json"),
    (
        "uv uvx pip pip3 pipx poetry pdm hatch rye pipenv tox nox conda mamba",
        "pyproject.toml setup.py setup.cfg requirements* constraints* uv.* poetry.* pdm.* hatch* pipfile* tox.ini noxfile.py environment.y*",
    ),
    ("make gmake", "makefile* gnumakefile* *.mk"),
    ("just", "justfile .justfile *.just"),
    ("task", "taskfile*"),
    ("bundle bundler gem rake", "gemfile* gems.* *.gemspec .bundle rakefile* *.rake"),
    ("cargo rustup", "cargo.* .cargo build.rs rust-toolchain*"),
    ("go", "go.mod go.sum go.work*"),
    ("composer", "composer.*"),
    ("gradle gradlew mvn mvnw", "*.gradle *.gradle.kts gradle gradle.properties pom.xml .mvn"),
    ("docker docker-compose podman podman-compose", "dockerfile* containerfile* docker-compose* compose.*"),
    ("nix nix-shell nix-build devenv devbox", "*.nix flake.lock devenv.* devbox.*"),
    ("cmake meson", "cmakelists.txt *.cmake meson*"),
    ("git", ".gitmodules .lfsconfig"),
];

const WILD: [char; 4] = ['*', '?', '[', ']'];

/// The tracked files that these commands use. A file is named by its base name alone, because a command may change the
/// directory.
pub fn used<'p>(commands: &[String], tracked: &'p [RelPath]) -> Vec<&'p RelPath> {
    let runs = |program: &str| commands.iter().any(|command| mentions(command, program));
    let read = READERS.iter().filter(|(programs, _)| programs.split(' ').any(runs));
    let mut patterns: Vec<String> = read.flat_map(|(_, files)| files.split(' ')).map(str::to_owned).collect();
    patterns.extend(commands.iter().flat_map(|command| wild_words(command)));
    let is_used = |path: &&RelPath| {
        let name = path.name().to_string_lossy();
        let fits_any = |part: &str| patterns.iter().any(|pattern| fits(pattern, part));
        commands.iter().any(|command| mentions(command, &name))
            || path.components().any(|part| fits_any(&part.to_string_lossy().to_lowercase()))
    };
    tracked.iter().filter(is_used).collect()
}

/// Whether a command contains this name as a whole.
fn mentions(command: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    command
        .match_indices(name)
        .any(|(at, _)| !command[..at].ends_with(is_part) && !command[at + name.len()..].starts_with(is_part))
}

/// The last part of each word with wildcards that is not only wildcards: `*.sh` of `tools/*.sh`, `tools` of `tools/*`.
fn wild_words(command: &str) -> Vec<String> {
    let words = command.split(|c: char| c.is_whitespace() || "\"'`;&|()<>={}$".contains(c));
    let parts = words
        .filter(|word| word.contains(WILD))
        .filter_map(|word| word.rsplit('/').find(|part| part.contains(char::is_alphanumeric)));
    parts.map(str::to_lowercase).collect()
}

fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.find(WILD), pattern.rfind(WILD)) {
        (Some(first), Some(last)) => name.starts_with(&pattern[..first]) && name.ends_with(&pattern[last + 1..]),
        _ => name == pattern,
    }
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
        ] {
            assert!(uses(command, "tools/x.sh"), "{command}");
        }
        for command in ["./x.sh.old", "./xx.sh", "cd tools && ls", "[ -d tools ] && echo *", "echo 'x .sh'"] {
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
            ("uv sync", "uv.lock"),
            ("make -C sub all", "sub/GNUmakefile"),
            ("just setup", "JUSTFILE"),
            ("lefthook install", ".lefthook.toml"),
            ("bundle", "Gemfile.lock"),
            ("cargo build", "x/build.rs"),
            ("/usr/bin/make", "rules.mk"),
            ("git submodule update --init", ".gitmodules"),
        ] {
            assert!(uses(command, path), "{command}: {path}");
        }
        for (command, path) in [("npm-check", "package.json"), ("remake", "Makefile"), ("npm ci", "src/index.js")] {
            assert!(!uses(command, path), "{command}: {path}");
        }
    }
}
