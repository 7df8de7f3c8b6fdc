//! `worktree-spawn`.

fn main() -> std::process::ExitCode {
    worktree_spawn::main()
}
