#!/usr/bin/env node
// Starts src/main.ts with a Node that can run it. Plain JavaScript: the Node that reads this may be too old for more.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findPinnedNode, isNewEnough, NO_NODE } from './runtime.js'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

// By default the nursery of the heap grows to 48 MB for what dies young anyway; less serves as well. And a server that has
// started lets go of what only the start needed (cli/serve.ts).
const args = ['--max-semi-space-size=2', '--expose-gc', main, ...process.argv.slice(2)]

// Reading the TypeScript takes half of the start; what was compiled is kept beside the packages, for this user only.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/sluice', import.meta.url))

const node = isNewEnough(process.versions.node) ? process.execPath : findPinnedNode()
if (node === undefined) {
  console.error(NO_NODE)
  process.exitCode = 1
} else start(node)

function start(node) {
  // From Node 22.15 on a process can become another one, and nothing has to be passed on.
  if (typeof process.execve === 'function') become(node)
  else runBeside(node)
}

function become(node) {
  process.removeAllListeners('warning')
  process.execve(node, [node, ...args], process.env)
}

/** Runs the program as a child that gets our signals, gives us its end, and follows us when we are killed. */
function runBeside(node) {
  const guard = new URL('./follow-parent.js', import.meta.url)
  const child = spawn(node, ['--import', guard.href, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'pipe'] })
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`${node} cannot be started: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    for (const each of signals) process.removeAllListeners(each)
    if (signal === null) process.exit(code)
    process.kill(process.pid, signal)
  })
}
