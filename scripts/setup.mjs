// Checks for programs that npm cannot install. Both `npm start` and `npm test` call it, because npm may be configured
// not to run pre-scripts. Plain JavaScript that runs on Node 20; takes no time if everything is there.
//   node scripts/setup.mjs --for=start | --for=test,interop,packages
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findPinnedNode, isCurrent, isNewEnough, NO_NODE } from '../bin/runtime.js'
import { buildDashboard } from './build-dashboard.mjs'
import { buildDocs } from './build-docs.mjs'
import { buildPlayer } from './build-player.mjs'
import { build } from './build-web.mjs'
import { at } from './compile.mjs'
import { ARCHITECTURES, buildNative, compilerFor } from './native.mjs'

const MINUTE_MS = 60_000

/** Debian's packages ask this program whether they may start their service: tests start what they need themselves. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d'

const ARM64_LIBRARY = '/usr/aarch64-linux-gnu/lib/libstdc++.so.6'

/** Programs by purpose: how to detect them, which package has them, and what does not work without them. */
const PROGRAMS = [
  {
    for: ['start', 'test', 'interop', 'packages'],
    what: 'ffmpeg',
    isThere: () => isOnPath('ffmpeg'),
    debian: 'ffmpeg',
    without:
      'WebRTC works, and HLS of RTMP. Channels, recordings, HLS of browsers, and the audio of RTMP over WebRTC do not.',
  },
  {
    for: ['test', 'interop'],
    what: 'git, ps, curl, openssl and Python',
    isThere: () => ['git', 'ps', 'curl', 'openssl', 'python3'].every(isOnPath),
    debian: 'git procps curl openssl python3',
    without: 'Everything runs, except the tests that start one of them.',
  },
  {
    for: ['test', 'interop'],
    what: 'Chromium without windows',
    isThere: () => Boolean(process.env.CHROMIUM) || isOnPath('chromium-headless-shell'),
    debian: 'chromium-headless-shell',
    without:
      'Everything runs. The tests in a real browser take the Chromium with windows if it is there, or the one that CHROMIUM names.',
  },
  {
    for: ['interop'],
    what: 'Firefox',
    isThere: () => Boolean(process.env.FIREFOX) || isOnPath('firefox-esr'),
    debian: 'firefox-esr',
    without: 'Everything runs, except the tests in a second browser; FIREFOX may name one for them instead.',
  },
  {
    for: ['interop'],
    what: 'aiortc, a second WebRTC implementation',
    isThere: () => hasPythonModule('aiortc'),
    debian: 'python3-aiortc',
    without: 'Everything runs, except the tests with a WebRTC peer that is no browser.',
  },
  {
    for: ['interop'],
    what: 'mpv',
    isThere: () => isOnPath('mpv'),
    debian: 'mpv',
    without: 'Everything runs, except the test that HLS plays in it.',
  },
  {
    for: ['interop'],
    what: 'GStreamer',
    isThere: () => hasGstreamer(),
    debian: ['tools', 'plugins-base', 'plugins-good', 'plugins-bad', 'libav']
      .map((part) => `gstreamer1.0-${part}`)
      .join(' '),
    without: 'Everything runs, except the tests that HLS plays in it.',
  },
  {
    for: ['interop'],
    what: "GStreamer's webrtcbin with Python, a third WebRTC implementation",
    isThere: hasWebrtcbin,
    debian: 'gstreamer1.0-plugins-bad gstreamer1.0-nice python3-gst-1.0 gir1.2-gst-plugins-bad-1.0',
    without: 'Everything runs, except the tests with the WebRTC of GStreamer.',
  },
  {
    for: ['test'],
    what: "Pebble, the test server of Let's Encrypt",
    isThere: () => isOnPath('pebble') && isOnPath('pebble-challtestsrv'),
    debian: 'pebble',
    without: 'Everything runs, except the tests that get certificates by ACME.',
  },
  {
    for: ['test'],
    what: 'PostgreSQL server programs (initdb, postgres)',
    isThere: () => Boolean(process.env.PG_TEST_URL) || hasPostgres(),
    debian: 'postgresql',
    without: 'Everything runs, except the tests on PostgreSQL; PG_TEST_URL may name a server for them instead.',
  },
  {
    for: ['test'],
    what: 'PgBouncer',
    isThere: () => isOnPath('pgbouncer') || isProgram('/usr/sbin/pgbouncer'),
    debian: 'pgbouncer',
    without: 'Everything runs, except the tests of PgBouncer in front of PostgreSQL.',
  },
  {
    for: ['test', 'interop'],
    what: 'nginx',
    isThere: () => isOnPath('nginx'),
    debian: 'nginx-light',
    without: 'Everything runs, except the tests of nginx as a cache, and of the nginx files in the guides.',
  },
  {
    for: ['interop'],
    what: 'Varnish',
    isThere: () => isOnPath('varnishd'),
    debian: 'varnish gcc libc6-dev',
    without: 'Everything runs, except the tests of Varnish as a cache.',
  },
  {
    for: ['test', 'packages'],
    what: 'a C compiler',
    isThere: () => isOnPath('cc'),
    debian: 'gcc libc6-dev',
    without: 'There are no addons, so that JavaScript serves media alone, in the packages too.',
  },
  ...ARCHITECTURES.filter((arch) => arch !== process.arch).map((arch) => ({
    for: ['packages'],
    what: `a C compiler for ${arch}`,
    isThere: () => isOnPath(compilerFor(arch).program),
    debian: compilerFor(arch).debian,
    without: `The packages have no addons for ${arch}, so that JavaScript serves media alone there.`,
  })),
  {
    for: ['packages'],
    what: 'an emulator of arm64, with its C++ library',
    isThere: () => process.arch !== 'x64' || (isOnPath('qemu-aarch64') && existsSync(ARM64_LIBRARY)),
    debian: 'qemu-user libc6-arm64-cross libgcc-s1-arm64-cross libstdc++6-arm64-cross',
    without: 'The packages for arm64 are not run in a test.',
  },
  {
    for: ['packages'],
    what: 'mmdebstrap and dpkg-deb',
    isThere: () => isOnPath('mmdebstrap') && isOnPath('dpkg-deb'),
    debian: 'mmdebstrap dpkg-dev xz-utils',
    without: 'The Debian package is not made, or not installed in a test.',
  },
  {
    for: ['packages'],
    what: 'buildah, podman and runc',
    isThere: () => ['buildah', 'podman', 'runc'].every(isOnPath),
    debian: 'buildah podman runc',
    without: 'The container image is not made, or not run in a test.',
  },
  {
    for: ['packages'],
    what: 'zsh, fish and man',
    isThere: () => ['zsh', 'fish', 'man'].every(isOnPath),
    debian: 'zsh fish man-db groff',
    without: 'The tests of the completions and of the manual are left out.',
  },
  {
    for: ['test', 'packages'],
    what: 'systemd-analyze',
    isThere: () => isOnPath('systemd-analyze'),
    debian: 'systemd',
    without: 'Everything runs, except the tests of the unit.',
  },
]

const argument = process.argv.find((each) => each.startsWith('--for=')) ?? '--for=start'
const purposes = argument.slice('--for='.length).split(',')

if (!isNewEnough(process.versions.node) && findPinnedNode() === undefined) {
  console.error(NO_NODE)
  process.exitCode = 1
} else {
  for (const program of PROGRAMS)
    if (program.for.some((each) => purposes.includes(each)) && !program.isThere()) provide(program)
  // The start is ready when the slowest of these is.
  const starts = purposes.includes('start')
  if (mayWrite(at('.')))
    await Promise.all([starts && buildProgram(), buildDashboard(), buildPlayer(), buildDocs(), buildOthers()])
  else if (!isCurrent())
    console.warn(
      `setup: this user may not write in ${at('.')}, so nothing is built: run "npm run setup" there as its owner`,
    )
}

function mayWrite(folder) {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Tests have one of their own. */
async function buildProgram() {
  if (isCurrent()) return
  await build({
    name: 'program',
    built: 'dist/main.js',
    steps: [['scripts/build-program.mjs']],
    without: 'It runs from its sources, which start more slowly',
  })
}

/** What blocks while it runs: short compilers, beside the processes that were started before. */
async function buildOthers() {
  buildNative()
  await import('./build-sign.mjs')
  await import('./build-client.mjs')
}

function provide({ what, debian, without, isThere }) {
  if (canInstall()) {
    console.log(`setup: installing ${debian} with apt-get, for ${what}`)
    install(debian)
    if (isThere()) return
  }
  console.warn(`setup: missing: ${what}. ${without}\n       On Debian and Ubuntu: apt-get install ${debian}`)
}

function canInstall() {
  return process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

/** Silent unless it fails, and limited to a few minutes. `names`: one or more, separated by spaces. */
function install(names) {
  const allowServices = forbidServices()
  try {
    runApt(names)
  } finally {
    allowServices()
  }
}

/** Until the returned function is called, no package starts a service. A policy of the machine stays as it is. */
function forbidServices() {
  if (existsSync(SERVICE_POLICY)) return () => undefined
  writeFileSync(SERVICE_POLICY, '#!/bin/sh\n# Written for one run of apt-get; safe to delete.\nexit 101\n', {
    mode: 0o755,
  })
  return () => rmSync(SERVICE_POLICY, { force: true })
}

function runApt(names) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const steps = [
    { args: ['update', '-qq'], timeout: 2 * MINUTE_MS },
    { args: ['install', '-y', '-qq', '--no-install-recommends', ...names.split(' ')], timeout: 5 * MINUTE_MS },
  ]
  for (const { args, timeout } of steps) {
    const lock = ['-o', 'DPkg::Lock::Timeout=60']
    const { status, stderr, error } = spawnSync('apt-get', [...lock, ...args], { env, timeout, encoding: 'utf8' })
    if (status !== 0) console.warn(`setup: apt-get ${args[0]} failed: ${error?.message ?? stderr.trim().slice(-500)}`)
  }
}

/** On the PATH, or in Debian's directories. */
function hasPostgres() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const directories = [...onPath(), ...versions.map((v) => join(debian, v, 'bin'))]
  return directories.some((directory) => isProgram(join(directory, 'initdb')) && isProgram(join(directory, 'postgres')))
}

/** The program, and the decoder from the last of the installed packages. */
function hasGstreamer() {
  const libraries = '/usr/lib'
  const folders = existsSync(libraries) ? readdirSync(libraries).filter((name) => name.endsWith('-linux-gnu')) : []
  const plugins = folders.map((name) => join(libraries, name, 'gstreamer-1.0'))
  const isThere = (plugin) => plugins.some((folder) => existsSync(join(folder, `libgst${plugin}.so`)))
  return isOnPath('gst-launch-1.0') && ['libav', 'hls', 'soup', 'isomp4'].every(isThere)
}

function onPath() {
  return (process.env.PATH ?? '').split(delimiter)
}

function isOnPath(name) {
  return onPath().some((directory) => isProgram(join(directory, name)))
}

/** Debian's own Python: another one on the PATH does not see apt's packages. */
function hasPythonModule(name) {
  return existsSync(`/usr/lib/python3/dist-packages/${name}`)
}

/** Debian's paths; the tests look for the same files. */
function hasWebrtcbin() {
  const libraries = process.arch === 'arm64' ? '/usr/lib/aarch64-linux-gnu' : '/usr/lib/x86_64-linux-gnu'
  const files = ['girepository-1.0/GstWebRTC-1.0.typelib', 'gstreamer-1.0/libgstnice.so', 'gstreamer-1.0/libgstvpx.so']
  return hasPythonModule('gi/overrides/Gst.py') && files.every((file) => existsSync(join(libraries, file)))
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
