/** Sentences of the settings of the server and its nodes, which are loaded with their pages. Otherwise as `en.ts`. */
export const settingsEn = {
  defaults: {
    title: 'Defaults',
    save: 'Save',
    saved: 'Saved',
    countriesText:
      'For all publish and subscribe tokens that have no country rules of their own. ' +
      'The next decision uses it, and sessions that it refuses end within a second. ' +
      'Viewers without a token, of open streams, are not asked.',
    countriesHint: 'Codes of two letters. Empty: any country.',
    noDatabase: 'There is no country database: “Only these” refuses every client, “All but these” refuses none.',
    onlyCountries: (list: string) => `Only clients in ${list} may use tokens without country rules.`,
    notCountries: (list: string) => `Clients in ${list} may not use tokens without country rules.`,
    anyCountry: 'Clients in any country may use tokens without country rules.',
    region: 'Region of publishers',
    regionText:
      'Of publish tokens that name none themselves: only servers of this region take their publishers. ' +
      'The next decision uses it, and broadcasts that it refuses end within a second.',
    regionName: 'Region',
    regionNameHint: 'A region of nodes. auto: all servers take publishers.',
    regionIs: (name: string) =>
      name === 'auto' ? 'All servers take publishers.' : `Servers in ${name} take publishers.`,
    distribution: 'Distribution',
    distributionText:
      'Of publish tokens that say nothing themselves: only servers of these regions show their streams, and those of the ' +
      'publisher’s. Broadcasts that begin from now on have it. Off: every server does.',
    cascade: 'Only in some regions',
    clusters: 'Regions',
    clustersAre: (list: string) => `Servers in ${list} show streams.`,
    cascadeOff: 'All servers show streams.',
    recordingsText:
      'Of all streams, unless their publish token has days of its own. Recordings that get complete from now on are deleted by themselves, ' +
      'with their files; older ones keep their date.',
    days: 'Delete recordings after',
    daysHint: '1 to 365, from when they are complete. Empty: they stay.',
    keptFor: (days: number | null) =>
      days === null
        ? 'Recordings stay until someone deletes them.'
        : days === 1
          ? 'Recordings are deleted after a day.'
          : `Recordings are deleted after ${days} days.`,
  },

  // Nodes
  /** On the page Access. */
  admissions: {
    notKept: 'Only refusals are recorded. Admissions can be too, from then on, with the addresses of viewers.',
    inPart: (percent: string) => `${percent} % of admissions are recorded, as the configuration says.`,
    kept: (rows: string) => `Admissions are recorded, at most ${rows} a minute.`,
    record: 'Record admissions',
    recordNoMore: 'Record no more',
    isOn: 'Admissions are recorded from now on',
    isOff: 'Admissions are not recorded any more',
  },
  nodes: {
    title: 'Nodes',
    node: 'Node',
    state: 'State',
    states: { serving: 'Serving', draining: 'Draining', silent: 'Not seen lately' },
    full: 'No new viewers',
    whyFull: {
      sessions: 'all sessions for viewers are taken',
      media: 'media processes are busy',
      egress: 'sends as much as it may',
    },
    mediaName: 'Media processes',
    media: (percent: number) => `${percent}% busy`,
    linksName: 'Streams of other nodes',
    links: (lent: string, borrowed: string) => `${borrowed} from others, ${lent} to others`,
    relayed: (streams: string) => `${streams} passed on in its region`,
    redirects: 'Redirects viewers',
    linkProblems: {
      media_port: 'a node’s media ports do not answer',
      no_answer: 'a node does not answer',
      refused: 'a node has another key or version',
      busy: 'a node gets too many requests',
      lends_nothing: 'a node only redirects',
    },
    thisOne: 'this one',
    version: 'Version',
    since: 'Since',
    sessions: 'Sessions',
    publishersOf: (count: string) => `${count} ${count === '1' ? 'publisher' : 'publishers'}`,
    viewersOf: (count: string) => `${count} ${count === '1' ? 'viewer' : 'viewers'}`,
    loadName: 'Traffic, last minute',
    cpuName: 'Processor',
    cpu: (percent: number, cores: number) => `${percent}% of ${cores} ${cores === 1 ? 'core' : 'cores'}`,
    load: (into: string, out: string) => `${into} in, ${out} out`,
    seen: 'Last seen',
    one: 'One node serves all',
    oneText: {
      sqlite: 'Its data is in SQLite on this machine. To add nodes on other machines, move to PostgreSQL.',
      postgres:
        'Its data is in PostgreSQL. To add a node, start Sluice elsewhere with the same database and sealing key.',
    },
  },

  // The server
  server: {
    title: 'Server',
    adminsOnly: 'Only admins see the configuration and run checks.',
    node: 'Node',
    thisOne: 'this one',
    gone: 'A node that is gone',
    doctor: {
      title: 'Doctor',
      run: 'Run the checks',
      again: 'Check again',
      running: 'Checking. It takes some seconds.',
      about:
        'Checks the machine, the network and the configuration as sluice doctor does, and says for each problem what to do. Streams go on meanwhile.',
      allWell: (checks: number) => `All ${checks} checks are fine`,
      problems: (failed: number, warned: number) =>
        [
          failed > 0 ? `${failed} ${failed === 1 ? 'check has' : 'checks have'} failed` : '',
          warned > 0 ? `${warned} ${warned === 1 ? 'warning' : 'warnings'}` : '',
        ]
          .filter(Boolean)
          .join(', '),
      fine: (checks: number) => `${checks} fine`,
      outcomes: { ok: 'fine', warn: 'warning', FAIL: 'failed' },
    },
    backup: {
      title: 'Backup',
      make: 'Make a backup',
      running: 'A backup is being made. Sluice serves meanwhile.',
      none: 'None was made here yet.',
      made: 'Last made',
      size: 'Size',
      tokens: 'Tokens',
      version: 'Version',
      key: 'Needs the key',
      noKey: 'none',
      download: 'Download',
      about:
        'It has all that Sluice stores, secrets sealed, password hashes too: keep it as you keep a secret. The ' +
        'sealing key is not in it, and a restore needs it: keep a copy of the key elsewhere. Recordings are not ' +
        'in it. The server keeps the last backup; sluice restore brings one back.',
      postgres:
        'The data is in PostgreSQL. Run sluice backup FILE where pg_dump is installed, or use the backups of your ' +
        'database server.',
    },
    storage: {
      title: 'Storage',
      free: (free: string, total: string) => `${free} free of ${total}`,
      parts: {
        database: 'Database',
        recordings: 'Recordings',
        thumbnails: 'Thumbnails of recordings',
        channels: 'Output of engines',
        backups: 'Backups',
      },
      inFiles: (size: string, files: number) => `${size} in ${files} ${files === 1 ? 'file' : 'files'}`,
      atLeast: (size: string) => `${size} at least`,
      elsewhere: 'HLS is in memory. The log goes to standard output: your service manager keeps it.',
      tables: 'The largest tables of the database',
      table: 'Table',
      rows: 'Rows',
      size: 'Size',
    },
    upkeep: {
      title: 'Version and ages',
      version: 'Version',
      changes: 'What changed',
      certificate: 'TLS certificate',
      noTls: 'Sluice speaks no TLS. A proxy in front has a certificate of its own.',
      daysLeft: (days: number) => `${days} ${days === 1 ? 'day' : 'days'} left`,
      expired: 'Expired',
      countries: 'Country database',
      noCountries: 'None: the country of every address is unknown.',
      noAge: 'Does not say its age.',
      daysOld: (days: number) => `${days} ${days === 1 ? 'day' : 'days'} old`,
    },
    configuration: {
      title: 'Configuration',
      search: 'Search the configuration',
      searchHint: 'Part of a key or its description',
      which: 'Which keys',
      set: 'Set',
      all: 'All',
      shown: (shown: number, all: number) => `${shown} of ${all} keys`,
      nothingSet: 'Nothing is set: every key has its default.',
      noMatch: 'No key matches.',
      key: 'Key',
      value: 'Value',
      source: 'From',
      sources: { default: 'Default', flag: 'Command line' },
      change: 'A new value',
      restart: 'needs a restart',
      reload: 'needs a reload',
      hidden: 'Set, hidden',
      notSet: 'Not set',
      on: 'On',
      off: 'Off',
      empty: 'empty',
      broken: 'The configuration has a problem now. Sluice goes on with the values below, and would not start again.',
      reloadNow: 'Reload',
      reloadAbout: 'This node reads its file, environment and flags again, as with sluice reload.',
      applied: (keys: string) => `Applied: ${keys}.`,
      nothingNew: 'Nothing to apply: no key that a reload applies has changed.',
      refused: (problems: string) => `Nothing was changed: ${problems}`,
      waitsForReload: (keys: string) => `Changed since, and not applied: ${keys}. Reload the configuration.`,
      waitsForRestart: (keys: string) => `Changed since, and applied by a restart only: ${keys}.`,
    },
  },
}
