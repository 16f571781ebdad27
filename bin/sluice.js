#!/usr/bin/env node
// Starts src/main.ts with a Node that can run it. Plain JavaScript: the Node that reads this may be too old for more.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findPinnedNode, isNewEnough, NO_NODE } from './runtime.js'

const main = new URL('../src/main.ts', import.meta.url)

if (isNewEnough(process.versions.node)) await import(main.href)
else startWith(findPinnedNode())

function startWith(node) {
  if (node === undefined) {
    console.error(NO_NODE)
    process.exitCode = 1
    return
  }
  const args = [fileURLToPath(main), ...process.argv.slice(2)]
  // From Node 22.15 on a process can become another one, and nothing has to be passed on.
  if (typeof process.execve === 'function') process.execve(node, [node, ...args], process.env)
  runBeside(node, args)
}

/** Runs the program as a child that gets our signals, gives us its end, and follows us when we are killed. */
function runBeside(node, args) {
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
