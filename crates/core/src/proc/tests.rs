//! Tests of what runs processes.

use super::*;

#[test]
fn a_command_with_a_deadline_is_ended_with_what_it_started() {
    let (env, _) = Env::from_process();
    let sleep = shell(&env, "sleep 600 & wait").unwrap().within(Duration::from_millis(50));
    assert_eq!(sleep.capture().unwrap_err().kind, "deadline");
    let quick = shell(&env, "echo done").unwrap().within(Duration::from_secs(60)).capture().unwrap();
    assert_eq!(quick.stdout, b"done\n");
}
