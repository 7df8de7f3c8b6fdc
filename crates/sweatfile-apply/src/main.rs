//! `sweatfile-apply`.

fn main() -> std::process::ExitCode {
    sweatfile_apply::main()
}
