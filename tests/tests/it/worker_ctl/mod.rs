//! worker-ctl as its user meets it.

mod accept;
mod activity;
mod attached;
mod conflicts;
mod daemon;
mod delivery;
mod doctor;
mod events;
mod forged_objects;
mod hostile;
mod init;
mod killed_accept;
mod killed_commands;
mod landing;
mod lists;
mod panes;
mod readiness;
mod removal;
mod review;
mod root;
mod sessions;
mod settings;
mod status;
mod tasks;
mod typing;
mod workers;
