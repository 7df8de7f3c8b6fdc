//! worker-ctl as its user meets it.

mod accept;
mod crash;
mod day;
mod doctor;
mod edges;
mod kills;
mod loss;
mod regress;
mod regress_panes;
mod root;
mod sessions;
mod settings;
mod typing;
mod waits;
