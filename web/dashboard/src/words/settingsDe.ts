import type { Partly, Translation } from './complete.ts'
import type { settingsEn } from './settingsEn.ts'

/** German, as `de.ts`. */
export const settingsDe: Partly<Translation<typeof settingsEn>> = {
  defaults: {
    title: 'Vorgaben',
    save: 'Speichern',
    saved: 'Gespeichert',
    countriesText:
      'Für alle Publish- und Subscribe-Tokens ohne eigene Länderregeln. ' +
      'Die nächste Entscheidung richtet sich danach, und Sitzungen, die nicht mehr erlaubt sind, enden binnen einer Sekunde. ' +
      'Zuschauer ohne Token, von offenen Streams, werden nicht gefragt.',
    countriesHint: 'Codes aus zwei Buchstaben. Leer: alle Länder.',
    noDatabase: 'Es gibt keine Länderdatenbank: „Nur diese“ weist jeden ab, „Alle außer diesen“ niemanden.',
    onlyCountries: (list) => `Nur Clients in ${list} dürfen Tokens ohne Länderregeln verwenden.`,
    notCountries: (list) => `Clients in ${list} dürfen Tokens ohne Länderregeln nicht verwenden.`,
    anyCountry: 'Clients in jedem Land dürfen Tokens ohne Länderregeln verwenden.',
    region: 'Region der Sender',
    regionText:
      'Von Publish-Tokens, die selbst keine nennen: nur Server dieser Region nehmen ihre Sender an. ' +
      'Die nächste Entscheidung benutzt sie, und Sendungen, die sie abweist, enden in einer Sekunde.',
    regionName: 'Region',
    regionNameHint: 'Eine Region von Knoten. auto: alle Server nehmen Sender an.',
    regionIs: (name) => (name === 'auto' ? 'Alle Server nehmen Sender an.' : `Server in ${name} nehmen Sender an.`),
    distribution: 'Verteilung',
    distributionText:
      'Von Publish-Tokens, die selbst nichts sagen: nur Server dieser Regionen zeigen ihre Streams, und die in der Region des ' +
      'Senders. Sendungen, die ab jetzt beginnen, haben es. Aus: alle Server tun es.',
    cascade: 'Nur in manchen Regionen',
    clusters: 'Regionen',
    clustersAre: (list) => `Server in ${list} zeigen Streams.`,
    cascadeOff: 'Alle Server zeigen Streams.',
    recordingsText:
      'Von allen Streams, außer der Publish-Token hat eigene Tage. Aufnahmen, die ab jetzt fertig ' +
      'werden, löscht Sluice von selbst, mit ihren Dateien; ältere behalten ihr Datum.',
    days: 'Aufnahmen löschen nach',
    daysHint: '1 bis 365, ab dem Ende der Verarbeitung. Leer: sie bleiben.',
    keptFor: (days) =>
      days === null
        ? 'Aufnahmen bleiben, bis jemand sie löscht.'
        : days === 1
          ? 'Aufnahmen werden nach einem Tag gelöscht.'
          : `Aufnahmen werden nach ${days} Tagen gelöscht.`,
  },

  // Nodes
  /** On the page Access. */
  admissions: {
    notKept:
      'Nur Abweisungen werden aufgezeichnet. Auch Zulassungen sind möglich, von da an und mit den Adressen der Zuschauer.',
    inPart: (percent) => `${percent} % der Zulassungen werden aufgezeichnet, wie es die Konfiguration sagt.`,
    kept: (rows) => `Zulassungen werden aufgezeichnet, höchstens ${rows} je Minute.`,
    record: 'Zulassungen aufzeichnen',
    recordNoMore: 'Nicht mehr aufzeichnen',
    isOn: 'Zulassungen werden von jetzt an aufgezeichnet',
    isOff: 'Zulassungen werden nicht mehr aufgezeichnet',
  },
  nodes: {
    title: 'Knoten',
    node: 'Knoten',
    state: 'Zustand',
    states: { serving: 'In Betrieb', draining: 'Wird geleert', silent: 'Länger nicht gesehen' },
    full: 'Keine neuen Zuschauer',
    whyFull: {
      sessions: 'alle Sitzungen für Zuschauer sind belegt',
      media: 'die Medienprozesse sind ausgelastet',
      egress: 'sendet so viel, wie er darf',
    },
    mediaName: 'Medienprozesse',
    media: (percent) => `zu ${percent} % ausgelastet`,
    linksName: 'Streams anderer Knoten',
    links: (lent, borrowed) => `${borrowed} von anderen, ${lent} an andere`,
    relayed: (streams) => `${streams} in seiner Region weitergegeben`,
    redirects: 'Leitet Zuschauer um',
    linkProblems: {
      media_port: 'die Medien-Ports eines Knotens antworten nicht',
      no_answer: 'ein Knoten antwortet nicht',
      refused: 'ein Knoten hat einen anderen Schlüssel oder eine andere Version',
      busy: 'ein Knoten bekommt zu viele Anfragen',
      lends_nothing: 'ein Knoten leitet nur um',
    },
    thisOne: 'dieser',
    version: 'Version',
    since: 'Seit',
    sessions: 'Sitzungen',
    publishersOf: (count) => `${count} Sender`,
    viewersOf: (count) => `${count} Zuschauer`,
    loadName: 'Verkehr, letzte Minute',
    cpuName: 'Prozessor',
    cpu: (percent, cores) => `${percent} % von ${cores} ${cores === 1 ? 'Kern' : 'Kernen'}`,
    load: (into, out) => `${into} herein, ${out} hinaus`,
    seen: 'Zuletzt gesehen',
    one: 'Ein Knoten bedient alle',
    oneText: {
      sqlite:
        'Seine Daten sind in SQLite auf diesem Computer. Für Knoten auf anderen Computern wechseln Sie zu PostgreSQL.',
      postgres:
        'Seine Daten sind in PostgreSQL. Ein weiterer Knoten ist ein Sluice anderswo mit derselben Datenbank und demselben Sealing-Key.',
    },
  },

  // The server
  server: {
    title: 'Server',
    adminsOnly: 'Nur Admins sehen die Konfiguration und starten Prüfungen.',
    node: 'Knoten',
    thisOne: 'dieser',
    gone: 'Ein Knoten, den es nicht mehr gibt',
    doctor: {
      title: 'Diagnose',
      run: 'Prüfungen starten',
      again: 'Erneut prüfen',
      running: 'Die Prüfung läuft. Sie dauert einige Sekunden.',
      about:
        'Prüft Computer, Netzwerk und Konfiguration wie sluice doctor und sagt, was zu tun ist. Streams laufen weiter.',
      allWell: (checks) => `Alle ${checks} Prüfungen sind in Ordnung`,
      problems: (failed, warned) =>
        [
          failed > 0 ? `${failed} ${failed === 1 ? 'Prüfung' : 'Prüfungen'} fehlgeschlagen` : '',
          warned > 0 ? `${warned} ${warned === 1 ? 'Warnung' : 'Warnungen'}` : '',
        ]
          .filter(Boolean)
          .join(', '),
      fine: (checks) => `${checks} in Ordnung`,
      outcomes: { ok: 'in Ordnung', warn: 'Warnung', FAIL: 'fehlgeschlagen' },
    },
    backup: {
      title: 'Sicherung',
      make: 'Sicherung erstellen',
      running: 'Eine Sicherung entsteht. Sluice arbeitet währenddessen weiter.',
      none: 'Hier wurde noch keine erstellt.',
      made: 'Zuletzt erstellt',
      size: 'Größe',
      tokens: 'Tokens',
      version: 'Version',
      key: 'Braucht den Schlüssel',
      noKey: 'keinen',
      download: 'Herunterladen',
      about:
        'Sie enthält alles, was Sluice speichert, Geheimnisse versiegelt, auch Hashes von Passwörtern: Bewahren ' +
        'Sie sie wie ein Geheimnis auf. Der Sealing-Key ist nicht darin, und eine Wiederherstellung braucht ihn: ' +
        'Verwahren Sie eine Kopie des Schlüssels anderswo. Aufnahmen sind nicht darin. Der Server behält die ' +
        'letzte Sicherung; sluice restore stellt eine wieder her.',
      postgres:
        'Die Daten sind in PostgreSQL. Führen Sie sluice backup FILE aus, wo pg_dump installiert ist, oder nutzen ' +
        'Sie die Sicherungen Ihres Datenbankservers.',
    },
    storage: {
      title: 'Speicher',
      free: (free, total) => `${free} von ${total} frei`,
      parts: {
        database: 'Datenbank',
        recordings: 'Aufnahmen',
        thumbnails: 'Vorschaubilder von Aufnahmen',
        channels: 'Ausgabe von Engines',
        backups: 'Sicherungen',
      },
      inFiles: (size, files) => `${size} in ${files} ${files === 1 ? 'Datei' : 'Dateien'}`,
      atLeast: (size) => `mindestens ${size}`,
      elsewhere:
        'HLS ist im Arbeitsspeicher. Das Log geht auf die Standardausgabe: Ihr Dienstverwalter bewahrt es auf.',
      tables: 'Die größten Tabellen der Datenbank',
      table: 'Tabelle',
      rows: 'Zeilen',
      size: 'Größe',
    },
    upkeep: {
      title: 'Version und Alter',
      version: 'Version',
      changes: 'Was sich geändert hat',
      certificate: 'TLS-Zertifikat',
      noTls: 'Sluice spricht kein TLS. Ein vorgelagerter Proxy hat ein eigenes Zertifikat.',
      daysLeft: (days) => `noch ${days} ${days === 1 ? 'Tag' : 'Tage'} gültig`,
      expired: 'Abgelaufen',
      countries: 'Länderdatenbank',
      noCountries: 'Keine: Das Land jeder Adresse ist unbekannt.',
      noAge: 'Nennt ihr Alter nicht.',
      daysOld: (days) => `${days} ${days === 1 ? 'Tag' : 'Tage'} alt`,
    },
    configuration: {
      title: 'Konfiguration',
      search: 'Konfiguration durchsuchen',
      searchHint: 'Teil eines Schlüssels oder seiner Beschreibung',
      which: 'Welche Schlüssel',
      set: 'Gesetzte',
      all: 'Alle',
      shown: (shown, all) => `${shown} von ${all} Schlüsseln`,
      nothingSet: 'Nichts ist gesetzt: Jeder Schlüssel hat seinen Standardwert.',
      noMatch: 'Kein Schlüssel passt.',
      key: 'Schlüssel',
      value: 'Wert',
      source: 'Aus',
      sources: { default: 'Standard', flag: 'Befehlszeile' },
      change: 'Ein neuer Wert',
      restart: 'braucht einen Neustart',
      reload: 'braucht ein Neuladen',
      hidden: 'Gesetzt, verborgen',
      notSet: 'Nicht gesetzt',
      on: 'Ein',
      off: 'Aus',
      empty: 'leer',
      broken:
        'Die Konfiguration hat jetzt einen Fehler. Sluice läuft mit den Werten unten weiter und würde nicht mehr starten.',
      reloadNow: 'Neu laden',
      reloadAbout: 'Dieser Knoten liest Datei, Umgebung und Flags erneut, wie mit sluice reload.',
      applied: (keys) => `Übernommen: ${keys}.`,
      nothingNew: 'Nichts zu übernehmen: Kein Schlüssel hat sich geändert, den ein Neuladen übernimmt.',
      refused: (problems) => `Nichts wurde geändert: ${problems}`,
      waitsForReload: (keys) => `Seitdem geändert und nicht übernommen: ${keys}. Laden Sie die Konfiguration neu.`,
      waitsForRestart: (keys) => `Seitdem geändert; erst ein Neustart übernimmt: ${keys}.`,
    },
  },
}
