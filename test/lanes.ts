/** Tests beside those of `npm test`: `npm run test:NAME`. */
export interface Lane {
  /** Globs of its files, which `npm test` leaves to it. A lane with a `config` of its own has them there. */
  readonly files: readonly string[]
  /** Globs of files that `npm test` runs as well, in another environment. */
  readonly shared?: readonly string[]
  /** What `scripts/setup.mjs --for=` brings. */
  readonly needs: 'test' | 'interop' | 'packages'
  /** What it mostly does: two lanes run at once, one that computes beside one that waits. */
  readonly mostly: 'computes' | 'waits'
  /** How long it takes on two cores, beside another lane as `.ci/run` runs it. It begins only while so much time is left. */
  readonly seconds: number
  /** How many files run at once. */
  readonly workers: number
  /** Whether its tests need a PostgreSQL server. */
  readonly postgres?: boolean
  readonly env?: Readonly<Record<string, string>>
  /** The file of vitest's configuration, if it is not the one of all. */
  readonly config?: string
  /** The program that runs the tests, if it is not vitest alone. */
  readonly program?: string
}

/** The limit of each test, milliseconds. No test has a shorter one of its own. */
export const TEST_MS = 120_000
/** The limit of each wait in a test, milliseconds. A condition that holds ends it at once, so a long one costs nothing. */
export const WAIT_MS = 30_000
/** The same in the lanes, where browsers and players take longer. */
export const LANE_WAIT_MS = 60_000

/**
 * The most telling first: `.ci/run` begins them in this order until its time is over.
 */
export const LANES = {
  // The full number of kills: `.ci/run --all` sets CRASH_ROUNDS to 200.
  crash: {
    files: ['test/crash/{keyRotation,store,usage,webhooks}.test.ts', 'test/sim/{faults,links}.test.ts'],
    needs: 'test',
    mostly: 'computes',
    seconds: 30,
    workers: 2,
    postgres: true,
  },
  // Streams that a validator watches, or ffmpeg encodes.
  streams: {
    files: [
      'test/system/{channels,channelAudio,channelFailover,channelHls,channelSlate,channelTrouble,publisherNodes,feedHls,feedLadder}.test.ts',
      'test/system/recordingSwitch.test.ts',
      'test/system/{hardwareEncoder,hlsRestart,overload,pullDemand,pullGuard,pulls,spares,streamHealth,transcoder,webrtcServers}.test.ts',
      'test/media/{hls/{feedLadder,feedLayers,feedStream},encoder/bitrates}.test.ts',
      'test/{system/engineRestream,system/restreamRtsp,media/rtsp/senderFfmpeg}.test.ts',
      // Rooms that media processes or nodes share.
      'test/conformance/engine.links.test.ts',
      'test/{media/relay/nodeShares,system/cascadeFaults}.test.ts',
    ],
    needs: 'test',
    mostly: 'waits',
    seconds: 480,
    workers: 2,
    postgres: true,
  },
  // Several nodes on one database, its failover, PgBouncer, and what `npm test` runs on SQLite alone.
  postgres: {
    files: [
      'test/commands/releaseEngine.test.ts',
      'test/conformance/store.postgres{Faults,Locks}.test.ts',
      'test/system/{cascade,cascadeNodes,takeover}.test.ts',
      'test/system/{backupPostgres,channelNodes,cluster,doctorPostgres,drain,edgeCut,failover,faults,handover,reconnect}.test.ts',
      'test/system/{migration,monitoringNodes,pgbouncer,recordingNodes,restreamNodes,streamUpdates,streamViewers,switchover,viewerLimits}.test.ts',
    ],
    shared: [
      'test/conformance/lists.test.ts',
      'test/http/{accountDefaults,channelsBodies,healthEvents,tokenOperations,viewerRecords,webhookOperations}.test.ts',
      'test/commands/playerReports.test.ts',
      'test/commands/{accessLog,audience,binding,forget,lengths,nodeUsage,onTheAir,pullDemand,pulls,remoteFeeds,sessions,statements,users}.test.ts',
      'test/commands/tokenRegions.test.ts',
      'test/commands/{session{Expiry,Feeds,Spares,Usage},viewerLimits}.test.ts',
      'test/system/{delivery,leases,provision,provisionExport,provisionSettings,sessions,srtPush,tokenExpiry}.test.ts',
    ],
    needs: 'test',
    mostly: 'computes',
    seconds: 200,
    workers: 3,
    postgres: true,
    env: { TEST_STORES: 'postgres' },
  },
  // Chromium, ffmpeg and our own pages.
  browser: {
    files: [
      'test/e2e/{client,clientReturns,channelAudio,channelSlate}.test.ts',
      'test/e2e/{apiPage,demo,docs,handover,hls,player,playerBrand,playerPanels,refusals,rtmp,srt,tls,transport,webrtc}.test.ts',
    ],
    needs: 'test',
    mostly: 'waits',
    seconds: 160,
    workers: 2,
    postgres: true,
  },
  // The dashboard in Chromium, page by page.
  dashboard: {
    files: ['test/e2e/dashboard/!(firefox).test.ts', 'test/http/operator.test.ts'],
    needs: 'test',
    mostly: 'waits',
    seconds: 300,
    workers: 2,
  },
  // The pages of docs/ and the README, run as a reader would.
  docs: {
    files: ['test/system/docs{,Samples}.test.ts'],
    needs: 'test',
    mostly: 'computes',
    seconds: 25,
    workers: 2,
    postgres: true,
  },
  // Starts of what is built, and of installed copies, and what a process takes.
  start: {
    files: [
      'test/system/churn.test.ts',
      'test/system/{npmStart,firstRun,mediaProcess,idleModules,openFiles,listen}.test.ts',
      'test/base/keyfile.test.ts',
    ],
    needs: 'test',
    mostly: 'computes',
    seconds: 25,
    workers: 2,
    postgres: true,
  },
  // The addons in C with AddressSanitizer.
  addons: {
    files: [],
    config: 'test/addons/vitest.config.ts',
    program: 'test/addons/run.ts',
    needs: 'test',
    mostly: 'computes',
    seconds: 30,
    workers: 2,
  },
  // Behind nginx, Caddy and HAProxy, nginx-rtmp as a target, coturn, and the rules for Prometheus.
  proxies: {
    files: ['test/proxies/*.test.ts'],
    // GStreamer, as a caller over SRT and as a camera.
    needs: 'interop',
    mostly: 'waits',
    seconds: 90,
    workers: 2,
  },
  // Other players, browsers, WebRTC stacks and caches, and networks that lose packets. Each measures what a player shows:
  // beside another file the processor would decide.
  interop: {
    files: [
      'test/e2e/{channel,hlsPlayers,playerQuality,channelPlayers,playerFirefox,firefox,clients,edges,turn,loss,serverKilled}.test.ts',
      'test/e2e/dashboard/firefox.test.ts',
      'test/system/{hlsCaches,overloadedViewers}.test.ts',
    ],
    needs: 'interop',
    mostly: 'waits',
    seconds: 490,
    workers: 1,
    postgres: true,
  },
  // The packages, built, installed and used.
  packages: {
    files: [],
    config: 'test/packaging/vitest.config.ts',
    needs: 'packages',
    mostly: 'computes',
    seconds: 230,
    workers: 2,
  },
} as const satisfies Record<string, Lane>

export type LaneName = keyof typeof LANES

export const LANE_NAMES = Object.keys(LANES) as LaneName[]

/** `npm test`: projects of vitest.config.ts. */
export const GATE = ['unit', 'system'] as const

/** The globs of all files that a lane runs. */
export function globsOf(name: LaneName): readonly string[] {
  const { files, shared = [] }: Lane = LANES[name]
  return [...files, ...shared]
}
