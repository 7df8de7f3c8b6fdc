//! `worker-ctl`.

fn main() -> std::process::ExitCode {
    worker_ctl::main()
}
