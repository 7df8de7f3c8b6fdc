"use strict";
// Runs a tool from the package of this platform. The directory of the binaries comes first on the PATH, so that what the
// tool starts finds the binaries themselves, and not this script again.

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

// Where it is not, `execve` ends node with a trace.
const isExecutable = (file) => {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

module.exports = (tool) => {
  const platform = `@shopfloor-tools/${process.platform}-${process.arch}`;
  let bin;
  try {
    bin = path.join(path.dirname(require.resolve(`${platform}/package.json`)), "bin");
  } catch {
    console.error(`${tool}: error: the package ${platform}, which has the programs, is not installed`);
    console.error("  hint: install again with optional packages: `npm install -g shopfloor --include=optional`");
    console.error("  hint: if there is none for this platform, build it: @REPOSITORY@#from-source");
    process.exit(4);
  }
  const file = path.join(bin, tool);
  const args = process.argv.slice(2);
  const env = { ...process.env, PATH: bin + path.delimiter + (process.env.PATH ?? "") };
  // From node 22.15 on, nothing stays between the caller and the tool.
  if (typeof process.execve === "function" && isExecutable(file)) {
    process.execve(file, [tool, ...args], env);
  }
  const child = spawn(file, args, { stdio: "inherit", env });
  // A terminal sends the first two to the tool as well, which does not mind.
  for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`${tool}: error: cannot run ${file}: ${error.message}`);
    process.exit(4);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};
