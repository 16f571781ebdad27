// The Debian package: dpkg-deb puts together what the other scripts made.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { findNode } from '../../bin/runtime.js'
import { at } from '../compile.mjs'
import { debianArchitecture, manifest, run } from './run.mjs'

/** The oldest C library that Node and the addons start with: test/packaging/tarball.test.ts reads it from them. */
export const GLIBC = '2.34'

/** A pre-release comes before its release: `1.0.0-rc.1` is `1.0.0~rc.1` to dpkg. */
const debianVersion = (version) => version.replace('-', '~')

/** More than `xz -1` takes ten times as long and saves a tenth. */
const COMPRESSION = ['-Zxz', '-z1']

/** Returns the path of the package. `app`: what `stage` returned for `arch`. `compression`: of dpkg-deb. */
export function buildDeb(app, directory, options = {}) {
  const { version = manifest.version, arch = process.arch, compression = COMPRESSION } = options
  const root = join(dirname(app), `deb-${version}`)
  rmSync(root, { recursive: true, force: true })
  mkdirSync(join(root, 'usr/lib'), { recursive: true })
  run('cp', ['-al', app, join(root, 'usr/lib/sluice')])
  for (const [from, to, mode] of FILES) put(readFileSync(at(from)), join(root, to), mode)
  putDocuments(root, dirname(app))
  putControl(root, version, debianArchitecture(arch))
  const file = join(directory, `sluice_${debianVersion(version)}_${debianArchitecture(arch)}.deb`)
  run('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file])
  rmSync(root, { recursive: true })
  return file
}

const FILES = [
  ['packaging/debian/sluice', 'usr/bin/sluice', 0o755],
  ['packaging/debian/config.yaml', 'etc/sluice/config.yaml', 0o644],
  ['packaging/sluice.service', 'usr/lib/systemd/system/sluice.service', 0o644],
  ['LICENSE', 'usr/share/doc/sluice/copyright', 0o644],
  ['config.default.yaml', 'usr/share/doc/sluice/config.default.yaml', 0o644],
  ['packaging/debian/postinst', 'DEBIAN/postinst', 0o755],
  ['packaging/debian/prerm', 'DEBIAN/prerm', 0o755],
  ['packaging/debian/postrm', 'DEBIAN/postrm', 0o755],
]

/** Where Debian's shells look for completions. */
const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/sluice',
  zsh: 'usr/share/zsh/vendor-completions/_sluice',
  fish: 'usr/share/fish/vendor_completions.d/sluice.fish',
}

function put(content, file, mode = 0o644) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  chmodSync(file, mode)
}

function putDocuments(root, work) {
  run(findNode(), [at('scripts/packages/documents.ts'), work])
  const made = (name) => readFileSync(join(work, name))
  put(gzipSync(made('sluice.1'), { level: 9 }), join(root, 'usr/share/man/man1/sluice.1.gz'))
  put(gzipSync(readFileSync(at('CHANGELOG.md')), { level: 9 }), join(root, 'usr/share/doc/sluice/changelog.gz'))
  for (const [shell, file] of Object.entries(COMPLETIONS)) put(made(`sluice.${shell}`), join(root, file))
}

function putControl(root, version, architecture) {
  const [kilobytes] = run('du', ['-sk', '--exclude=DEBIAN', root]).split('\t')
  put('/etc/sluice/config.yaml\n', join(root, 'DEBIAN/conffiles'))
  put(control(version, architecture, kilobytes), join(root, 'DEBIAN/control'))
  const sums = 'find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums'
  run('sh', ['-c', sums], { cwd: root })
}

const control = (version, architecture, kilobytes) => `Package: sluice
Version: ${debianVersion(version)}
Architecture: ${architecture}
Maintainer: The Sluice developers <sluice@localhost>
Installed-Size: ${kilobytes}
Section: video
Priority: optional
Depends: adduser, init-system-helpers, libc6 (>= ${GLIBC}), libgcc-s1, libstdc++6, util-linux
Recommends: ca-certificates, ffmpeg
Suggests: postgresql-client
Description: self-hosted live streaming
 Sluice decides who may broadcast and who may watch, and gives a reason for
 every refusal. OBS, ffmpeg and browsers send to it over RTMP and WHIP; viewers
 watch over WebRTC and HLS. Everything is kept in one SQLite file, or in
 PostgreSQL for several nodes.
 .
 The package brings the Node that Sluice runs on.
`
