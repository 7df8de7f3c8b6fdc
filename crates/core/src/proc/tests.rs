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
