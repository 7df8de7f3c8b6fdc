//! `ledger-synth`.

fn main() -> std::process::ExitCode {
    ledger_synth::main()
}
