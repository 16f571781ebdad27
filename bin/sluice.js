#!/usr/bin/env node
// Starts Sluice with a Node that can run it. Plain JavaScript: the Node that reads this may be too old for more.
import { spawn } from 'node:child_process'
import * as runtime from './runtime.js'

const { BUILT, COMPILE_CACHE, FOLLOW_NPM, FOLLOW_PARENT, findNode, IS_UNDER_NPM, NO_NODE, OPTIONS, SOURCES } = runtime

// Sixty files start in two thirds of the time that 1,400 take, and in 30 MB less.
const isBuilt = runtime.isCurrent()
const args = [...OPTIONS, isBuilt ? BUILT : SOURCES, ...process.argv.slice(2)]

// Reading the TypeScript takes half of a start from the sources, so what was compiled is kept.
if (!isBuilt) process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE

// The C library would give each thread a heap of its own, and keep in each what was freed: 5 MB of an idle server. Children
// do not inherit this.
process.env.MALLOC_ARENA_MAX ??= '1'

const node = findNode()
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
  process.execve(node, [node, ...FOLLOW_NPM, ...args], process.env)
}

/** Runs the program as a child that gets our signals, gives us its end, and follows us when we are killed. */
function runBeside(node) {
  if (IS_UNDER_NPM) void import('./follow-npm.js')
  const child = spawn(node, [...FOLLOW_PARENT, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'pipe'] })
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
