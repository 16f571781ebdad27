/** Every sentence of the dashboard. A translation is a file beside this one with the same shape. */
export const en = {
  locale: 'en-GB',
  product: 'Sluice',

  // Navigation and frame
  frame: {
    skip: 'Skip to the content',
    main: 'Main',
    mainShort: 'Main, short',
    overview: 'Overview',
    goLive: 'Go live',
    tokens: 'Tokens',
    channels: 'Channels',
    recordings: 'Recordings',
    access: 'Access',
    analytics: 'Analytics',
    webhooks: 'Webhooks',
    settings: 'Settings',
    more: 'More',
    search: 'Search',
    searchOrJump: 'Search or jump to',
    account: (email: string) => `${email}, account and theme`,
    admin: 'Admin',
    viewer: 'Viewer',
    signOut: 'Sign out',
    theme: { light: 'Light theme', dark: 'Dark theme' },
    updatesOn: 'Live updates on',
    updatesOff: 'Live updates off, connecting again',
    notFound: 'There is no such page',
    notFoundText: 'The address may be old. The navigation leads to every page.',
    noAnswer: 'The server does not answer.',
  },

  // Parts that every page uses
  parts: {
    optional: 'optional',
    remove: (what: string) => `Remove ${what}`,
    copy: 'Copy',
    copied: 'Copied',
    copyThat: (what: string) => `Copy ${what}`,
    show: 'Show',
    showThat: (what: string) => `Show ${what}`,
    hide: 'Hide',
    hideThat: (what: string) => `Hide ${what}`,
    keep: 'Keep it',
    cancel: 'Cancel',
    save: 'Save',
    discard: 'Discard',
    writeToGoOn: (what: string) => `Write ${what} to go on`,
    undo: 'Undo',
    tryAgain: 'Try again',
    loading: 'Loading',
    previous: 'Previous',
    next: 'Next',
    more: 'Show more',
    rows: (shown: number) => (shown === 1 ? '1 row' : `${shown} rows`),
    range: (from: number, to: number, all: number) => `${from} to ${to} of ${all}`,
    actions: 'Actions',
    moreFor: (what: string) => `More for ${what}`,
    asTable: 'As a table',
    time: 'Time',
    daysAndHours: (days: number, hours: number) => `${days} d ${hours} h`,
    never: 'never',
    notYet: 'not yet',
  },

  // Signing in
  signIn: {
    title: 'Sign in',
    expired: 'Your session has ended.',
    expiredText: 'Sign in again. What you typed is kept.',
    email: 'E-mail',
    password: 'Password',
    submit: 'Sign in',
    noAccount: 'No account? An admin makes one in Settings, People, or with',
    command: 'sluice user create',
  },

  // First run
  setup: {
    title: 'Welcome. Who are you?',
    lead: 'This link works once. From now on you sign in with these.',
    email: 'E-mail',
    password: 'Password',
    passwordHint: '10 characters or more. A sentence is fine.',
    submit: 'Continue',
  },

  // Overview

  // Stream

  // Go live

  // Tokens

  // Channels

  // Recordings
  recordings: {
    title: 'Recordings',
    sub: 'MP4 files of past broadcasts.',
    caption: 'Recordings, newest first',
    search: 'Search by stream name',
    searchHint: 'Stream name, then Enter',
    none: 'No recordings',
    noneText: 'A publish token with the switch Record makes a file of each broadcast.',
    noneOf: (stream: string) => `There is no recording of a stream named ${stream}.`,
    stream: 'Stream',
    state: 'State',
    began: 'Began',
    length: 'Length',
    size: 'Size',
    play: 'Play',
    download: 'Download',
    close: 'Close',
    delete: 'Delete recording',
    deleteTitle: (stream: string) => `Delete this recording of ${stream}?`,
    deleteText: 'The file is removed from the disk. This cannot be undone.',
    deleted: (stream: string) => `Recording of ${stream} deleted`,
    states: { recording: 'Recording', processing: 'Processing', completed: 'Ready', error: 'No file' },
  },

  // Access

  // Analytics
  analytics: {
    title: 'Analytics',
    sub: 'Bytes of media, in UTC days. The figures follow a broadcast within a minute.',
    span: 'Time shown',
    spans: { today: 'Today', week: '7 days', month: '28 days', own: 'Dates' },
    from: 'From',
    to: 'To',
    none: 'No traffic in this time',
    noneText: 'Counting starts with the first broadcast.',
    out: 'Out to viewers',
    in: 'In from publishers',
    byHour: 'Traffic by hour',
    byDay: 'Traffic by day',
    byCountry: 'Out to viewers, by country',
    unknown: 'Not known',
    csv: 'CSV',
  },

  // Webhooks
  webhooks: {
    title: 'Webhooks',
    sub: 'Which of your servers receives which events.',
    create: 'New webhook',
    none: 'No webhook yet',
    noneText:
      'A webhook tells your server what happens: a broadcast starts, a recording is complete. To try one without a server of your own, run sluice listen.',
    paused: 'Paused',
    pausedUntil: 'The pause ends at',
    pausedText: 'Events before that are skipped. Send them again when the server works.',
    resume: 'Resume now',
    nothing: 'no events',
    url: 'URL',
    urlHint: 'https, to a public address',
    secret: 'Secret',
    renew: 'Renew the secret',
    renewTitle: 'Renew the secret?',
    renewText: 'This cannot be undone. Your server refuses every event until it has the new secret.',
    delete: 'Delete webhook',
    deleteTitle: (host: string) => `Delete the webhook to ${host}?`,
    deleteText: 'Its deliveries are deleted with it. This cannot be undone.',
    deleted: (host: string) => `Webhook to ${host} deleted`,
    filter: 'Only streams that match',
    filterHint: 'A pattern for the whole stream name, for example studio-[0-9]+',
    receives: 'Receives',
    kinds: {
      isFeedHooks: { name: 'Feeds', note: 'a broadcast starts or ends' },
      isMediaHooks: { name: 'Recordings', note: 'one starts, completes, fails or is deleted' },
      isThumbnailHooks: { name: 'Thumbnails', note: 'images of live streams' },
      isTranscoderHooks: { name: 'Transcoders', note: 'an engine starts, stops or fails' },
      isViewerConnectionHooks: { name: 'Viewers', note: 'an attempt to view, the first viewer, no more viewers' },
    },
    test: (kind: string) => `Send a test: ${kind}`,
    tested: 'Test sent',
    deliveries: 'Deliveries',
    deliveriesCaption: 'Deliveries, newest first',
    noDeliveries: 'Nothing was sent yet.',
    answer: 'Answer',
    event: 'Event',
    subject: 'About',
    took: 'Took',
    again: (what: string) => `Send ${what} again`,
    sentAgain: 'Sent again',
    eventId: 'Event',
    redeliveryOf: 'Redelivery of',
    problem: 'Problem',
    sent: 'Sent',
    answered: 'Answered',
    noAnswer: 'No answer',
    states: {
      pending: 'Waiting',
      started: 'Under way',
      delivered: 'Delivered',
      failed: 'No answer',
      skipped: 'Skipped',
      unknown: 'Unknown',
    },
  },

  // Settings

  // Search
} as const
