//! Links the tools of the tests at a fixed address. An unoptimised program has 150,000 relocations, which each of the
//! suite's many calls would pay for anew: a twentieth of its time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg-bin=tools=-no-pie");
    }
}
