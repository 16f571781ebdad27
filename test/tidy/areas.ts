import { matchesGlob } from 'node:path'
import { globsOf, LANE_NAMES, type LaneName } from '../lanes.ts'

/**
 * Which lanes of tests a change concerns beyond `npm test`, by the longest prefix of the path that stands here. A file of a
 * lane concerns that lane. What matches nothing concerns all of them.
 */
export const AREAS: Readonly<Record<string, readonly LaneName[]>> = {
  'src/app/': LANE_NAMES,
  'src/base/': ['crash', 'streams', 'postgres', 'browser', 'start'],
  'src/cli/': ['docs', 'start', 'packages'],
  'src/commands/': ['crash', 'postgres', 'dashboard', 'docs'],
  'src/commands/channels/': ['crash', 'streams', 'postgres', 'dashboard', 'docs'],
  'src/config/': ['docs', 'start', 'proxies'],
  'src/core/': ['streams', 'postgres', 'browser', 'dashboard', 'docs'],
  'src/core/hls/': ['streams', 'browser', 'interop'],
  'src/delivery/': ['crash', 'postgres', 'docs'],
  'src/edge/': ['browser', 'dashboard', 'docs', 'addons', 'proxies', 'interop'],
  'src/edge/http/hls/': ['streams', 'browser', 'addons', 'proxies', 'interop'],
  'src/edge/ingest/': ['streams', 'browser', 'docs', 'interop'],
  'src/edge/rtmp/': ['streams', 'browser', 'docs', 'interop'],
  'src/jobs/': ['crash', 'postgres'],
  'src/main.ts': ['start', 'packages'],
  'src/media/': ['streams', 'browser', 'start', 'interop'],
  'src/media/relay/': ['streams', 'browser', 'addons', 'proxies', 'interop'],
  'src/media/relay/link/': ['streams', 'postgres', 'interop'],
  'src/net/': ['streams', 'docs', 'proxies'],
  'src/services/': ['streams', 'postgres', 'dashboard'],
  'src/sign.ts': ['docs', 'packages'],
  'src/store/': ['crash', 'postgres', 'docs', 'start'],
  'src/tls/': ['browser', 'start', 'proxies'],
  'api/': ['browser', 'dashboard', 'docs'],
  'bench/': [],
  'bin/': ['start', 'packages'],
  'config.default.yaml': ['docs', 'packages'],
  'docs/': ['docs'],
  'docs/screenshots/': [],
  'native/': ['streams', 'addons', 'interop', 'packages'],
  'packaging/': ['proxies', 'packages'],
  'scripts/': ['start', 'packages'],
  'scripts/docs/': ['browser', 'packages'],
  'scripts/mutants': [],
  'scripts/screenshots': [],
  'web/': ['browser', 'dashboard', 'packages'],
  'web/client/': ['browser', 'interop'],
  'web/dashboard/': ['dashboard'],
  'web/docs/': ['browser', 'packages'],
  'web/player/': ['browser', 'interop'],
  'test/': [],
  'test/addons/': ['addons'],
  'test/crash/': ['crash'],
  'test/e2e/': ['browser', 'dashboard', 'interop'],
  'test/hls/': ['streams', 'interop'],
  'test/lanes.ts': LANE_NAMES,
  'test/packaging/': ['packages'],
  'test/proxies/': ['proxies'],
  'test/sim/': ['crash'],
  'test/support/': LANE_NAMES,
  'test/system/': ['browser', 'docs', 'start'],
  '.ci/passed': [],
  '.github/': [],
  'README.md': ['docs'],
  'ARCHITECTURE.md': [],
  'CHANGELOG.md': [],
  'CODE_OF_CONDUCT.md': [],
  'CONTRIBUTING.md': [],
  LICENSE: [],
  'SECURITY.md': [],
}

const PREFIXES = Object.keys(AREAS).toSorted((a, b) => b.length - a.length)

/** The lanes that changes of these files concern, in the order of `LANES`. Paths are from the root, with `/`. */
export function lanesOf(paths: readonly string[]): LaneName[] {
  const concerned = new Set(paths.flatMap(lanesOfPath))
  return LANE_NAMES.filter((name) => concerned.has(name))
}

function lanesOfPath(path: string): readonly LaneName[] {
  const holding = LANE_NAMES.filter((name) => globsOf(name).some((glob) => matchesGlob(path, glob)))
  if (holding.length > 0) return holding
  const prefix = PREFIXES.find((each) => path.startsWith(each))
  return (prefix === undefined ? undefined : AREAS[prefix]) ?? LANE_NAMES
}
