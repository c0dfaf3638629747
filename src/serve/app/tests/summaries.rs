//! The thread that keeps summaries, with a clock that goes as the test says.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::base::clock::Clock;
use crate::base::config::{Config, EmbedConfig};
use crate::serve::app::App;
use crate::serve::wire::{DigestParams, SummaryMakeParams};
use crate::vault::disk::Home;

const PATIENCE: Duration = Duration::from_secs(60);
const TALK: &str = "---\ntitle: Bread\nsource: capture\nparticipants:\n- user\n- baker\n---\n\n**18:32 · user:** Which flour is best for bread?\n\n\
                    **18:33 · baker:** We decided to use rye.\n";
/// 2026-01-05, at noon, local time.
fn noon() -> Timestamp {
    let noon: jiff::civil::DateTime = "2026-01-05T12:00:00".parse().unwrap();
    noon.to_zoned(TimeZone::system()).unwrap().timestamp()
}

struct World {
    folder: tempfile::TempDir,
    /// Seconds after noon.
    now: Arc<AtomicI64>,
    app: Option<App>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("memory.toml"), "").unwrap();
        Self { folder, now: Arc::default(), app: None }
    }

    fn start(&mut self) -> &mut Self {
        let (home, now) = (Home::open(self.folder.path()).unwrap(), Arc::clone(&self.now));
        let clock = Clock::new(move || noon() + jiff::SignedDuration::from_secs(now.load(Ordering::SeqCst)));
        let config =
            Config { embed: EmbedConfig { model: "none".into(), ..EmbedConfig::default() }, ..Config::default() };
        let lock = home.lock().unwrap();
        self.app = Some(App::with_clock(home, config, lock, true, None, clock).unwrap());
        self
    }

    fn stop(&mut self) {
        self.app.take();
    }

    fn app(&self) -> &App {
        self.app.as_ref().unwrap()
    }

    /// Writes a file, some seconds after noon.
    fn write(&self, path: &str, text: &str, seconds: u64) {
        let on_disk = self.path(path);
        fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
        fs::write(&on_disk, text).unwrap();
        let at = SystemTime::from(noon()) + Duration::from_secs(seconds);
        fs::File::options().write(true).open(on_disk).unwrap().set_modified(at).unwrap();
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Lets the clock say so many seconds after noon.
    fn at(&self, seconds: i64) -> &Self {
        self.now.store(seconds, Ordering::SeqCst);
        self.app().look_at_summaries();
        self
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(std::time::Instant::now() < deadline, "{what}: {:?}", self.state());
            self.app().shared.wait(Duration::from_millis(20), |_| false);
            self.app().look_at_summaries();
        }
    }

    fn state(&self) -> crate::serve::wire::SummariesState {
        self.app().status(&self.app().owner()).unwrap().summaries.unwrap_or_default()
    }
}

const SUMMARY: &str = "summaries/2026-01-05-bread.md";
const CONVERSATION: &str = "conversations/2026-01-05-bread.md";

#[test]
fn a_conversation_is_summarised_when_it_is_quiet_and_again_when_it_has_gone_on() {
    let mut world = World::new();
    world.write(CONVERSATION, TALK, 0);
    world.start().at(30);
    world.until("it waits", |world| world.state().waiting == 1);
    assert!(!world.path(SUMMARY).exists());
    world.at(60);
    world.until("it is made", |world| world.path(SUMMARY).exists());
    let made = world.read(SUMMARY);
    assert!(made.contains("- baker: We decided to use rye. (conversations/2026-01-05-bread.md#L11)\n"), "{made}");
    assert!(made.contains("through: conversations/2026-01-05-bread.md#L11\nturns: 2\n"), "{made}");

    world.write(CONVERSATION, &format!("{TALK}\n**18:40 · user:** No, we decided to use wheat.\n"), 100);
    world.until("it waits again", |world| world.state().waiting == 1);
    assert_eq!(world.read(SUMMARY), made);
    world.at(160);
    world.until("it is made anew", |world| world.read(SUMMARY).contains("wheat"));

    // Another tag in the conversation is no other turn.
    let before = world.read(SUMMARY);
    world.write(
        CONVERSATION,
        &format!("{TALK}\n**18:40 · user:** No, we decided to use wheat.\n").replace("title", "tags: [a]\ntitle"),
        200,
    );
    world.at(300);
    world.until("it is looked at", |world| {
        world.state() == crate::serve::wire::SummariesState { summaries: 1, ..Default::default() }
    });
    assert_eq!(world.read(SUMMARY), before);
}

#[test]
fn a_summary_that_a_person_edited_stays_and_is_said_to_be_old() {
    let mut world = World::new();
    world.write(CONVERSATION, TALK, 0);
    world.start().at(60);
    world.until("it is made", |world| world.state().summaries == 1);
    let mine = format!("{}- my own line\n", world.read(SUMMARY));
    world.write(SUMMARY, &mine, 70);
    world.write(CONVERSATION, &format!("{TALK}\n**18:40 · user:** We decided to use wheat.\n"), 100);
    world.at(200);
    world.until("it is told", |world| world.state().kept.iter().any(|kept| kept.path == SUMMARY));
    assert_eq!(world.read(SUMMARY), mine);
    let made =
        crate::memory::summaries::make(&world.app().owner(), &SummaryMakeParams { of: Some(CONVERSATION.into()) })
            .unwrap();
    assert_eq!((made.made.len(), made.kept.len()), (0, 1));
    assert_eq!(world.read(SUMMARY), mine);
}

#[test]
fn a_summary_goes_with_its_conversation_and_a_clock_that_jumps_does_no_harm() {
    let mut world = World::new();
    world.write(CONVERSATION, TALK, 0);
    world.start().at(100_000_000);
    world.until("it is made", |world| world.state().summaries == 1);
    let made = world.read(SUMMARY);
    world.at(-5);
    world.until("it is looked at", |world| world.state().waiting == 0);
    assert_eq!(world.read(SUMMARY), made);
    assert_eq!(fs::read_dir(world.path("summaries")).unwrap().count(), 1, "once");
    fs::remove_file(world.path(CONVERSATION)).unwrap();
    world.until("it goes, too", |world| !world.path(SUMMARY).exists());
}

#[test]
fn what_was_not_finished_is_made_at_the_next_start_and_once() {
    let mut world = World::new();
    world.write(CONVERSATION, TALK, 0);
    world.start().at(10);
    world.until("it waits", |world| world.state().waiting == 1);
    world.stop();
    world.now.store(1000, Ordering::SeqCst);
    world.start();
    world.until("it is made", |world| world.state().summaries == 1);
    let made = world.read(SUMMARY);
    world.stop();
    // As if the index had not heard of it.
    fs::remove_dir_all(world.path(".vault/index")).unwrap();
    world.start();
    world.until("it is known", |world| world.state().summaries == 1);
    assert_eq!(world.read(SUMMARY), made);
    assert_eq!(fs::read_dir(world.path("summaries")).unwrap().count(), 1);
    let again = crate::memory::summaries::make(&world.app().owner(), &SummaryMakeParams::default()).unwrap();
    assert_eq!((again.made.len(), again.same), (0, 1));
}

#[test]
fn the_file_of_a_day_is_written_when_it_is_over_and_is_the_persons_once_edited() {
    let mut world = World::new();
    world.write("notes/trip.md", "---\ncreated: 2026-01-05T12:00:00\n---\n# Trip\n\nWe decided to visit Lisbon.\n", 0);
    world.write(CONVERSATION, TALK, 0);
    world.start().at(600);
    let day = "summaries/days/2026-01-05.md";
    world.until("it is summarised", |world| world.state().summaries == 1);
    assert!(!world.path(day).exists(), "the day is not over");
    world.at(13 * 3600);
    world.until("the day is written", |world| world.path(day).exists());
    let text = world.read(day);
    assert!(text.contains("- We decided to visit Lisbon. (notes/trip.md#L6)\n"), "{text}");
    assert!(text.contains("- conversations: 1 new, 2 turns (conversations/2026-01-05-bread.md)\n"), "{text}");
    assert!(!text.contains("summaries/2026"), "summaries are not summarised");
    let write = |world: &World| {
        let params = DigestParams { day: Some("2026-01-05".into()), week: None };
        crate::memory::summaries::write_digest(&world.app().owner(), &params).unwrap()
    };
    assert!(!write(&world).written, "it says that already");
    world.write("notes/trip.md", "---\ncreated: 2026-01-05T12:00:00\n---\n# Trip\n\nWe decided to visit Porto.\n", 0);
    world.app().owner().workspace().settled_in_time(&crate::base::path::VaultPath::new("notes/trip.md").unwrap());
    assert!(write(&world).written);
    let mine = world.read(day) + "- mine\n";
    world.write(day, &mine, 0);
    assert_eq!(write(&world).reason.as_deref(), Some("you edited the file"));
    assert_eq!(world.read(day), mine);
    let week = "summaries/weeks/2026-W02.md";
    assert!(!world.path(week).exists());
    world.at(7 * 24 * 3600);
    world.until("the week is written", |world| world.path(week).exists());
}

#[test]
fn an_adopted_vault_gets_no_summaries_unasked() {
    let mut world = World::new();
    fs::write(world.path("memory.toml"), "[memory]\nenabled = false\n").unwrap();
    world.write(CONVERSATION, TALK, 0);
    let home = Home::open(Path::new(world.folder.path())).unwrap();
    let config = Config::load(home.root()).unwrap();
    assert!(!config.memory.enabled);
    let lock = home.lock().unwrap();
    world.app = Some(App::with_clock(home, config, lock, true, None, Clock::default()).unwrap());
    world.app().shared.wait(PATIENCE, |progress| progress.caught_up);
    assert_eq!(world.app().status(&world.app().owner()).unwrap().summaries, None);
    assert!(!world.path("summaries").exists());
}
