//! `shopfloor`.

fn main() -> std::process::ExitCode {
    shopfloor::main()
}
