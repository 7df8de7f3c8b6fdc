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

#[test]
fn the_end_of_a_command_does_not_wait_for_who_else_holds_its_output_open() {
    let (env, _) = Env::from_process();
    let setsid = find(&env, "setsid").expect("util-linux has it");
    let dir = tempfile::tempdir().unwrap();
    // It is in no group of ours, as a server to which a client has passed its output.
    let line = format!("{} sh -c 'echo $$ > pid; exec sleep 600' & wait", setsid.display());
    let held = shell(&env, &line).unwrap().dir(dir.path()).within(Duration::from_secs(5));
    assert_eq!(held.capture().unwrap_err().kind, "deadline");
    let holder = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    kill_process(holder.trim().parse().ok().and_then(Pid::from_raw).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn what_is_ended_early_may_tidy_up_after_its_shell_has_ended() {
    let (env, _) = Env::from_process();
    let (dir, ending) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
    let (writer, mut reader) = crate::fs::scratch(dir.path()).unwrap();
    let line = "(trap 'echo tidied; exit' TERM; echo begun; sleep 600 & wait); :";
    let cmd = shell(&env, line).unwrap().ending(ending.clone());
    let streams = (writer, reader.try_clone().unwrap());
    let ended = thread::scope(|scope| {
        let running = scope.spawn(|| cmd.into_file(streams, Duration::MAX, 1 << 20));
        while reader.metadata().unwrap().len() == 0 && !running.is_finished() {
            thread::yield_now();
        }
        ending.store(true, Ordering::SeqCst);
        running.join().unwrap()
    });
    assert!(ended.unwrap().is_none());
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(said, "begun\ntidied\n");
}
