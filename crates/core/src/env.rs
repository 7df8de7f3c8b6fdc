//! The process's surroundings as one value: arguments, variables, current directory, clock and
//! terminal are read here once and handed down, so that nothing below `main` reads a global.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::error::{Exit, Failure, Result};
use crate::text::is_like;

/// The variables that make other programs run something. One `*` in a pattern stands for anything.
const STARTERS: &str = "PATH ENV BASH_ENV BASHOPTS BASH_FUNC_* SHELL SHELLOPTS IFS PROMPT PS0 PS1 PS2 PS4 ZDOTDIR FPATH HOME XDG_* \
    VISUAL LESS* *EDITOR *PAGER *BROWSER *_SHELL *_COMMAND *_CMD *_ARGS *_WRAPPER *_HELPER *_ASKPASS *_RSH *_PRELOAD \
    *_OPTS *OPTIONS *FLAGS *PROG *_BIN *_BINARY *_BINARY_PATH *_EXECUTABLE_PATH *_HOOKS *_RC *_PROXY LD_* DYLD_* \
    GCONV_PATH GIT_* SSH_AUTH_SOCK NODE_PATH NODE_EXTRA_* NODE_TLS_* NPM_CONFIG_* YARN_* PNPM_* BUN_* DENO_* \
    TS_NODE_* NVM_* VOLTA_* PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONINSPECT \
    PYTHONUSERBASE PYTHONWARNINGS PYTHONPYCACHEPREFIX VIRTUAL_ENV PYTEST_* PIP_* UV_* PYENV_* POETRY_* PERL5* PERLLIB \
    RUBYOPT RUBYLIB RBENV_* GEM_* BUNDLE_* JAVA_* JDK_* *CLASSPATH MAVEN_* GRADLE_* CARGO* RUSTC* RUSTDOC* RUSTUP_* \
    GOENV GOROOT GOPATH GOPROXY GOAUTH GOTOOLCHAIN GOPACKAGESDRIVER CC CXX LD COMPILER_PATH GCC_* MAKE MAKEFILES \
    CMAKE_* DOTNET_ROOT* CORECLR_* COR_* PSMODULEPATH JULIA_* LUA_* R_PROFILE* PHPRC PHP_INI_SCAN_DIR ERL_* \
    DOCKER_HOST DOCKER_CONFIG COMPOSE_FILE KUBECONFIG TF_CLI_* ANSIBLE_* AWS_CONFIG_FILE OPENSSL_* CURL_HOME WGETRC \
    PSQLRC INPUTRC RIPGREP_CONFIG_PATH ZIPOPT GTK_MODULES EMACSLOADPATH VIMINIT EXINIT NVIM_* TMUX* DIRENV_* MISE_* \
    ASDF_* NIX_* LEFTHOOK* PRE_COMMIT_* CLAUDE_CODE_* *_CONFIG_DIR CLAUDE_ENV_FILE ANTHROPIC_*URL OPENAI_*URL \
    CODEX_HOME GEMINI_CLI_* OPENCODE_* AIDER_* GOOSE_MODE SHOPFLOOR* SWEATFILE_* OVERLAY_SYNC_* LEDGER_SYNTH_* WORKTREE_SPAWN_* \
    WORKER_CTL_* FLASK_APP PYTHON *_PYTHON SVN_SSH HGMERGE BORG_* COMPOSER* IPYTHONDIR TERRAGRUNT_* \
    NODE_REPL_* *_CONFIG_PATH AR PKG_CONFIG* AWS_SHARED_CREDENTIALS_FILE *_PROCFILE *_JUSTFILE *_VAGRANTFILE CHROME_PATH HELM_PLUGINS QT_PLUGIN_PATH SCCACHE_* \
    ELECTRON_* GEMINI_SANDBOX* PROTOC *CLANG_PATH HGRCPATH VIMRUNTIME IRBRC PYLINTRC STARSHIP_CONFIG COREPACK_* \
    PRISMA_*_LIBRARY VSCODE_GIT_* MAILCAPS R_LIBS* R_ENVIRON* CROSS_COMPILE HOST_CC CC_* CXX_* CPP AS FC \
    RANLIB DEVELOPER_DIR ANDROID_HOME CUDA_HOME TF_DATA_DIR TCL_LIBRARY BASH_LOADABLES_PATH MPLBACKEND GNUPGHOME JJ_CONFIG \
    LG_CONFIG_FILE GST_PLUGIN_PATH* USE_BAZEL_VERSION BAZEL_REAL MIX_HOME LEIN_HOME JUPYTER_* PLAYWRIGHT_BROWSERS_PATH \
    GUILE_*PATH NPM_EXECPATH TORCHINDUCTOR_* ZSH_CUSTOM OPENAI_*BASE GOOGLE_GEMINI_*URL CODE_ASSIST_ENDPOINT \
    SSLKEYLOGFILE HISTFILE PGSERVICEFILE PGPASSFILE CDPATH TMPDIR CONDA_EXE CCACHE_* M4 YACC BISON LLVM_CONFIG \
    SWIFT_EXEC *SYMBOLIZER_PATH DBUS_* MSBUILDSDKSPATH COVERAGE_PROCESS_* COVERAGE_RCFILE CAML_LD_LIBRARY_PATH \
    GHC_PACKAGE_PATH OCAMLPATH MONO_PATH TCLLIBPATH *_DRIVERS_PATH VK_* COMPOSE_ENV_FILES \
    COMPOSE_PROJECT_DIRECTORY SPRING_CONFIG_* GOOGLE_APPLICATION_CREDENTIALS *_MIRROR *_DOWNLOAD_HOST *_CDNURL GOSUMDB \
    AUTOCONF AUTOMAKE LEX FLEX NM STRIP OBJCOPY MPIEXEC OMPI_* HARNESS_* FCEDIT *_EXTERNAL_DIFF *_PLUGIN_EXTRA_DIRS \
    TG_TF_PATH TF_REATTACH_PROVIDERS GH_PATH GVIMINIT P4DIFF SYSTEMD_SSH SSH_SK_PROVIDER PASSWORD_STORE_* \
    CLOUDSDK_PYTHON* AZURE_EXTENSION_DIR *_HOOK_PATH *_SCRIPT *_PLUGINS_DIR *_PLUGIN_PATH CELERY_LOADER AIRFLOW_HOME AIRFLOW_CONFIG AIRFLOW__* \
    *DRIVER_PATH *DRIVER_FILEPATH SE_*DRIVER MAGICK_* GIO_* GTK_PATH GDK_PIXBUF_* QT_QPA_* QML* QTWEBENGINEPROCESS_PATH GST_PLUGIN_* \
    LIBMYSQL_PLUGINS LADSPA_PATH FREI0R_PATH *_EXEC_PATH VALGRIND_LIB ODBCSYSINI BAZEL_SH *_CONFIG_FILE GOWORK STACK_YAML STACK_ROOT STACK_CONFIG STACK_GLOBAL_CONFIG \
    OCAMLFIND_CONF REBAR_* MIX_* VCPKG_* XLOCALEDIR *_OPTS_FILE MUTTRC SENDMAIL KREW_ROOT HELM_DATA_HOME HUSKY \
    BAZELISK_* FLUTTER_STORAGE_* PUB_HOSTED_URL HEX_* *_DIST_BASE_URL *_REGISTRY RCLONE_CONFIG VAULT_ADDR \
    AWS_CONTAINER_* AWS_EC2_METADATA_* GCE_METADATA_HOST CLOUDSDK_API_* AZURE_AUTHORITY_HOST HEROKU_API_URL VERCEL_API \
    TURBO_API PULUMI_BACKEND_URL HF_ENDPOINT BUILDKIT_HOST DOCKER_CONTEXT SSL_CERT_* *_CA_BUNDLE PGSSL* PYTHONHTTPSVERIFY \
    *_CONF_DIR *_CONFIG_HOME *_CONFIG_MODULE *_SETTINGS *_SETTINGS_MODULE *_FOR_DYNACONF *_HOOKS_PATH *_HOOKS_DIR *_PLUGINS_PATH \
    *_PLUGIN_DIR BUILDKITE_PLUGINS* BUILDKITE_ADDITIONAL_* ACTIONS_RUNNER_* DISTCC_* ICECC* SPARK_HOME HADOOP_HOME HIVE_HOME FLINK_HOME CATALINA_* \
    OCL_ICD_* OPENCL_* __EGL_* __GLX_* XR_RUNTIME_* XR_API_LAYER_* XR_ENABLE_API_LAYERS GBM_BACKENDS_PATH CUDA_INJECTION* HSA_TOOLS_LIB NCCL_*_PLUGIN \
    FI_PROVIDER_PATH UCX_MODULE_DIR PMIX_* PRTE_* I_MPI_* HYDRA_LAUNCHER* HYDRA_BOOTSTRAP* HYDRA_MAIN_MODULE DJANGO_CONFIGURATION QUART_APP LITESTAR_APP UVICORN_APP* UVICORN_LOG_CONFIG UVICORN_ENV_FILE \
    UVICORN_FACTORY UVICORN_LOOP UVICORN_HTTP UVICORN_WS \
    CELERY_APP LOCUST_LOCUSTFILE LOCUST_CONFIG INVOKE_* TOX_* HATCH_* PDM_PYPI_* PDM_PROJECT PIPENV_PIPFILE PIPENV_DOTENV_* PANTS_* SPHINXBUILD ALEMBIC_CONFIG CABAL_* CONAN_* \
    MDBOOK_* HUGO_SECURITY_* WP_CLI_* RUBYSHELL PRYRC GEMRC KRB5_CONFIG *SCREENRC PGSYSCONFDIR GUIX_* SPRING_APPLICATION_JSON LOGGING_CONFIG \
    LOG4J_CONFIGURATION_FILE LIBRARY_PATH CPATH *_INCLUDE_PATH CHROME_EXECUTABLE CHROMEWEBDRIVER GECKOWEBDRIVER EDGEWEBDRIVER \
    KOTLIN_HOME SCALA_HOME GROOVY_HOME ANT_HOME M2_HOME SBT_HOME FLUTTER_ROOT FLUTTER_HOME DART_HOME DART_SDK PUB_CACHE \
    ANDROID_SDK_ROOT ANDROID_NDK_*";

/// The variable by which the front door tells a tool that it runs in its place.
pub const FRONT: &str = "SHOPFLOOR_FRONT";

/// Whether this variable can make other programs run something. Some of them read their variables in any case.
pub fn starts_programs(name: &str) -> bool {
    is_like(&name.to_uppercase(), STARTERS)
}

/// The process's arguments, variables, directory, clock and terminal.
#[derive(Clone, Debug)]
pub struct Env {
    /// The command line, the program's name first. If it is a path, it is absolute, because `-C` moves [`Env::cwd`].
    pub args: Vec<OsString>,
    /// Every environment variable.
    pub vars: BTreeMap<OsString, OsString>,
    /// The current directory; moved by `-C`.
    pub cwd: PathBuf,
    /// Whether the directory was named with `-C`. Inherited git variables then refer to another
    /// repository, and are dropped before anything is looked up.
    pub cwd_named: bool,
    /// Whether a person can be asked: stdin and stderr are both a terminal.
    pub can_ask: bool,
    /// Whether stdin is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether stdout is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether stderr is a terminal.
    pub stderr_is_terminal: bool,
    /// Whether nothing is changed, as `--dry-run` asks.
    pub is_dry: bool,
    /// Whether the front door runs this tool in its own place, so that what it says names the front door's verbs.
    pub is_behind_front: bool,
    /// The main checkout, told by a command that runs there and asks about other worktrees: git may not record it.
    pub main_checkout: Option<PathBuf>,
    /// The current time for this run: the clock's, or `SHOPFLOOR_NOW` (RFC 3339).
    pub now: Timestamp,
}

impl Env {
    /// Reads the process, and reports what is wrong with it: a `SHOPFLOOR_NOW` that is not a time (exit 2), a
    /// current directory that is gone (exit 4). The value returned with a failure is good enough to print it.
    pub fn from_process() -> (Env, Option<Failure>) {
        let mut problem = None;
        let mut vars: BTreeMap<_, _> = std::env::vars_os().collect();
        // For this process, and none that it starts.
        let is_behind_front = vars.remove(OsStr::new(FRONT)).is_some();
        // A relative directory would be one of the worktree in which a program runs, where an agent has put programs.
        if let Some(path) = vars.get_mut(OsStr::new("PATH")) {
            let dirs: Vec<PathBuf> = std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect();
            *path = std::env::join_paths(dirs).unwrap_or_default();
        }
        // An empty one would be the current directory.
        if vars.get(OsStr::new("PATH")).is_some_and(|path| path.is_empty()) {
            vars.remove(OsStr::new("PATH"));
        }
        let named = vars.get(OsStr::new("SHOPFLOOR_NOW"));
        let now = named.and_then(|text| text.to_str()?.parse().ok());
        if let (Some(text), None) = (named, now) {
            let failure = Failure::usage(format!("SHOPFLOOR_NOW is not a time: `{}`", text.to_string_lossy()));
            problem = Some(failure.hint("write it as RFC 3339, for example `SHOPFLOOR_NOW=2026-01-31T12:00:00Z`"));
        }
        let cwd = std::env::current_dir().unwrap_or_else(|e| {
            let failure = Failure::new(Exit::Failed, "no_directory", "cannot read the current directory");
            let hint = "change to one that exists, as with `cd ~`, or give the whole path of one with `-C`";
            problem.get_or_insert(failure.because(e).hint(hint));
            PathBuf::from("/")
        });
        let mut args: Vec<OsString> = std::env::args_os().collect();
        if let Some(name) = args.first_mut().filter(|name| name.as_encoded_bytes().contains(&b'/')) {
            *name = cwd.join(&*name).into_os_string();
        }
        let env = Env {
            args,
            vars,
            cwd,
            cwd_named: false,
            can_ask: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            is_dry: false,
            is_behind_front,
            main_checkout: None,
            now: now.unwrap_or_else(Timestamp::now),
        };
        (env, problem)
    }

    /// The path by which this program was called, if it was called by one. A name is looked up on the `PATH` by the
    /// caller: a file of that name in the current directory is somebody else's.
    pub fn called_path(&self) -> Option<&Path> {
        self.args.first().map(Path::new).filter(|path| path.is_absolute())
    }

    /// The same surroundings with the current time, for programs that keep running. `SHOPFLOOR_NOW` does not move.
    pub fn later(&self) -> Env {
        let fixed = self.vars.contains_key(OsStr::new("SHOPFLOOR_NOW"));
        Env { now: if fixed { self.now } else { Timestamp::now() }, ..self.clone() }
    }

    /// The same surroundings seen from `dir` (`-C DIR`), resolved against the current directory.
    pub fn at(&self, dir: &Path) -> Result<Env> {
        let cwd = self.cwd.join(dir);
        // As in git: an empty name changes nothing.
        let listing = if dir.as_os_str().is_empty() { Ok(()) } else { std::fs::read_dir(&cwd).map(|_| ()) };
        listing.map_err(|e| {
            Failure::usage(format!("cannot change to `{}`", dir.display()))
                .because(e)
                .hint("name a directory after `-C`")
        })?;
        Ok(Env { cwd, cwd_named: true, ..self.clone() })
    }

    /// A variable, when set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// Whether colours are shown where nobody says when: on a terminal that has some.
    pub fn shows_colors(&self, is_terminal: bool) -> bool {
        is_terminal && self.var("NO_COLOR").is_none() && self.var("TERM").is_none_or(|term| term != "dumb")
    }

    /// The user's home directory, when `HOME` is an absolute path.
    pub fn home(&self) -> Option<&Path> {
        self.var("HOME").map(Path::new).filter(|p| p.is_absolute())
    }

    /// Where the user's own configuration of all tools lies.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// Where the user's data lies (overlays, for example).
    pub fn data_home(&self) -> Option<PathBuf> {
        self.xdg("XDG_DATA_HOME", ".local/share")
    }

    /// Where state that belongs to the user lies (approvals, for example).
    pub fn state_home(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// The failure, exit 2, of what has to lie in [`Env::state_home`] where there is none.
    pub fn no_state_home(what: &str) -> Failure {
        let why = "neither XDG_STATE_HOME nor HOME is set to an absolute path";
        Failure::usage(format!("there is no place for {what}: {why}"))
            .hint("set HOME to an absolute path and run the command again")
    }

    /// Where temporary files go: `TMPDIR`, else `/tmp`.
    pub fn temp_dir(&self) -> PathBuf {
        self.var("TMPDIR").map_or(PathBuf::from("/tmp"), PathBuf::from)
    }

    /// XDG Base Directory Specification: a relative value is ignored.
    fn xdg(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.var(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = named.or_else(|| Some(self.home()?.join(below_home)))?;
        Some(base.join("shopfloor"))
    }
}
