//! `overlay-sync`.

fn main() -> std::process::ExitCode {
    overlay_sync::main()
}
