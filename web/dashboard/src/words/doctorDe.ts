import type { Answer, examineServer } from '#api/tokens.ts'

type Finding = Answer<typeof examineServer>['checks'][number]

/** German: what the checks of the server are called, and what they say by its code. `{name}` stands for a value. */
export const doctorDe: {
  readonly checks: Readonly<Record<Finding['check'], string>>
  readonly sentences: Readonly<Record<Finding['code'], string>>
} = {
  checks: {
    node: 'Node',
    addons: 'Addons',
    configuration: 'Konfiguration',
    'data directory': 'Datenverzeichnis',
    'recordings directory': 'Verzeichnis der Aufnahmen',
    'open files': 'Offene Dateien',
    memory: 'Arbeitsspeicher',
    store: 'Datenbank',
    'sealing key': 'Sealing-Key',
    connections: 'Verbindungen',
    'database settings': 'Einstellungen der Datenbank',
    'clock and database': 'Uhr und Datenbank',
    'clock and store': 'Uhr und Daten',
    handover: 'Streams anderer Knoten',
    attention: 'Hinweise',
    clock: 'Uhr',
    'clock and time server': 'Uhr und Zeitserver',
    'disk space': 'Speicherplatz',
    'disk speed': 'Tempo des Datenträgers',
    'webhook certificates': 'Zertifikate für Webhooks',
    TLS: 'TLS',
    'private key': 'Privater Schlüssel',
    'country database': 'Länderdatenbank',
    port: 'Port',
    'media ports': 'Ports für Medien',
    'RTMP port': 'RTMP-Port',
    'RTMPS port': 'RTMPS-Port',
    'redirect port': 'Port der Umleitung',
    'SRT port': 'SRT-Port',
    'UDP ports': 'UDP-Ports',
    'public address': 'Öffentliche Adresse',
    'public URL': 'Öffentliche URL',
    proxy: 'Proxy',
    'UDP buffers': 'UDP-Puffer',
    ffmpeg: 'ffmpeg',
    'ffmpeg network': 'Netzwerk von ffmpeg',
    encoders: 'Encoder',
    'video encoder': 'Video-Encoder',
    'hardware encoders': 'Hardware-Encoder',
  },
  sentences: {
    text: '{text}',
    node: '{version}',
    node_old: '{version} ist zu alt; Sluice braucht Node {major}: Starten Sie es mit npx sluice',
    addons: 'vollständig',
    config: 'gelesen; die Daten liegen in {dir}',
    directory: '{dir} ist les- und schreibbar',
    directory_new: '{dir} gibt es noch nicht; sluice serve legt es an',
    directory_impossible:
      '{dir} gibt es nicht, und dieser Benutzer kann es in {parent} nicht anlegen: Legen Sie es an, und geben Sie es ihm',
    directory_wrong: '{dir} ist kein Verzeichnis; setzen Sie data.dir oder --data',
    directory_closed:
      'Dieser Benutzer kann {dir} nicht lesen und schreiben; geben Sie es dem Benutzer, unter dem Sluice läuft',
    open_files: 'Die Grenze ist {limit}',
    open_files_few:
      'Die Grenze von {limit} erlaubt höchstens {http} HTTP- und {rtmp} RTMP-Verbindungen: Heben Sie sie an ' +
      '(ulimit -n, LimitNOFILE=)',
    open_files_few_shell:
      'Die Grenze von {limit} dieser Shell erlaubt höchstens {http} HTTP- und {rtmp} RTMP-Verbindungen; ' +
      'ein Dienst hat seine eigene (LimitNOFILE=)',
    open_files_shell:
      'Die Grenze dieser Shell ist {limit}; der Server hat seine eigene, und sein Log sagt, wenn sie niedrig ist',
    memory: 'bis zu {limit} MB',
    memory_small:
      'bis zu {limit} MB, und ein Server mit {processes} Medienprozessen braucht {needed}: Heben Sie die Grenze an ' +
      '(MemoryMax=, --memory), oder senken Sie webrtc.processes',
    store: '{name} ist les- und schreibbar, die Tabellen sind aktuell',
    store_new: '{file} gibt es noch nicht; sluice serve legt es an',
    store_large: '{name} ist groß, darum sind seine Seiten nicht geprüft; prüfen Sie die eines Backups',
    store_damaged:
      '{name} ist beschädigt, und Anfragen, die den Schaden berühren, scheitern ({problem}): Halten Sie den Server an, ' +
      'heben Sie die Datei auf, und stellen Sie ein Backup wieder her',
    sealing: 'öffnet die vorhandenen Tokens',
    sealing_unused: 'brauchbar; noch gibt es keinen Token zu öffnen',
    sealing_wrong:
      '{problem}; stellen Sie den Schlüssel dieser Datenbank wieder her (secrets.sealingKey, oder sealing.key im ' +
      'Datenverzeichnis)',
    connections: 'Ein Knoten öffnet bis zu {ours}; der Datenbankserver nimmt {most} an, {open} sind offen',
    connections_few:
      'Ein Knoten öffnet bis zu {ours}; der Datenbankserver nimmt {most} an, {open} sind offen; für einen weiteren ' +
      'Knoten erhöhen Sie diese Grenze (max_connections) oder senken Sie storage.poolSize',
    database_durable: 'Ein Commit wartet auf den Datenträger',
    database_not_durable:
      'fsync oder synchronous_commit ist aus, also verliert ein Absturz, was Sluice bestätigt hat: Schalten Sie ' +
      'beides ein',
    database_clock: 'Die Uhr dieses Computers stimmt mit der der Datenbank überein',
    database_clock_ahead:
      'geht der Datenbank {seconds} s vor; Sluice richtet sich nach der Uhr der Datenbank; stellen Sie beide mit NTP',
    database_clock_behind:
      'geht der Datenbank {seconds} s nach; Sluice richtet sich nach der Uhr der Datenbank; stellen Sie beide mit ' +
      'NTP',
    store_clock: 'Keine gespeicherte Änderung liegt in der Zukunft',
    store_clock_ahead: 'Die letzte Änderung liegt {seconds} s in der Zukunft; stellen Sie die Uhren mit NTP',
    handover_no_url:
      'Auch andere Knoten laufen, setzen Sie also server.nodeUrl: Zuschauer ihrer Streams werden hier abgewiesen',
    handover_same_url:
      '{nodes} Knoten haben dieselbe server.nodeUrl {url}: Geben Sie jedem seine eigene, sonst verfehlen Zuschauer ihre Streams',
    handover_redirect: 'redirect: WebRTC-Zuschauer eines Streams an einem anderen Knoten werden dorthin geschickt',
    handover_unused: 'cascade: Zurzeit kommt keiner von einem Knoten zum anderen; nichts hat einen Stream aufgehalten',
    handover_works:
      'cascade: {streams} kommen zurzeit von einem Knoten zum anderen; nichts hat einen Stream aufgehalten',
    handover_fails:
      'cascade: {streams} kommen zurzeit von einem Knoten zum anderen; zwischen {failed} Paaren von Knoten kommen Streams nicht an, siehe unten',
    attention: 'Nichts braucht Aufmerksamkeit',
    file_clock: 'stimmt mit dem Dateisystem überein',
    file_clock_ahead: 'geht dem Dateisystem {seconds} s vor; stellen Sie die Uhr mit NTP',
    file_clock_behind: 'geht dem Dateisystem {seconds} s nach; stellen Sie die Uhr mit NTP',
    time_server: 'stimmt mit {server} überein',
    time_server_ahead: 'geht {server} {seconds} s vor; stellen Sie die Uhr mit NTP',
    time_server_behind: 'geht {server} {seconds} s nach; stellen Sie die Uhr mit NTP',
    time_server_none: 'nicht gefragt: Auf der Befehlszeile nennt --time-server HOST einen Zeitserver',
    time_server_wrong: '{server} ist nicht HOST oder HOST:PORT',
    time_server_silent: 'keine Antwort von {server} innerhalb von 2 s: Vielleicht sperrt eine Firewall UDP',
    disk_space: '{free} MB frei in {dir}',
    disk_space_low: '{free} MB frei in {dir}: Upgrade und Betrieb brauchen {needed} MB; schaffen Sie Platz',
    recordings_low:
      '{free} MB frei in {dir}: Unter {least} beginnt keine Aufnahme (recordings.minFreeMegabytes); schaffen Sie ' +
      'Platz',
    disk_closed:
      'In {dir} lässt sich keine Datei schreiben ({problem}); schaffen Sie Platz, oder bringen Sie den Datenträger in Ordnung',
    disk_speed: 'Dauerhaftes Schreiben dauert {ms} ms',
    disk_slow:
      'Dauerhaftes Schreiben dauert {ms} ms: Nehmen Sie für data.dir einen schnelleren Datenträger (SSD, kein ' +
      'Netzlaufwerk), oder PostgreSQL',
    webhook_certificates: 'Mit {file} werden Empfänger geprüft',
    webhook_certificates_wrong: '{file} enthält keine lesbaren Zertifikate: {problem}; siehe webhooks.caFile',
    tls_authority: 'Geräte müssen der Zertifizierungsstelle in {file} vertrauen: siehe /ca.pem',
    certificate: 'Das Zertifikat läuft in {days} Tagen ab, am {date}',
    certificate_soon: 'Das Zertifikat läuft in {days} Tagen ab, am {date}: Erneuern Sie es',
    certificate_expired: 'Das Zertifikat ist am {date} abgelaufen: Erneuern Sie es',
    certificate_other: 'Das Zertifikat gilt für {names}, nicht für den Host von server.publicUrl, {host}',
    certificate_none: 'Noch gibt es kein Zertifikat: Ein laufender Server beschafft es',
    private_key_open: 'Andere Benutzer dieses Computers können {file} lesen: chmod 600 ändert das',
    countries: '{file} ist {days} Tage alt',
    countries_none: 'keine: Das Land jeder Adresse ist unbekannt (geoip.database)',
    countries_missing:
      '{file} gibt es nicht, oder dieser Benutzer sieht es nicht; berichtigen oder entfernen Sie geoip.database',
    countries_unreadable:
      '{file} ist nicht als MMDB-Datei zu lesen, also startet kein Server damit; ersetzen Sie die Datei: {problem}',
    countries_old: '{file} ist {days} Tage alt; ersetzen Sie die Datei: Sluice liest sie neu, wenn sie sich ändert',
    host_ipv4:
      'Dieser Rechner hat nur IPv6-Adressen, und {keys} nimmt nur IPv4 an (0.0.0.0), darum erreichen ihn andere nicht: ' +
      'Setzen Sie :: ein',
    port_free: '{host} Port {port} ist frei',
    port_own: 'Dieser Server wartet auf {host} Port {port}',
    port_answers: 'Ein Server antwortet auf {host} Port {port}',
    port_hangs:
      'Der Server dieses Datenverzeichnisses (Prozess {pid}) hat {host} Port {port} und antwortet nicht: Sehen Sie in ' +
      'sein Log, und starten Sie ihn dann neu',
    media_ports_used: 'nicht geprüft, weil ein laufender Server sie benutzt',
    srt_port_taken:
      '{problem}: Beenden Sie, was ihn benutzt, oder setzen Sie srt.port (oder schalten Sie SRT mit srt.enabled aus)',
    udp_port: 'Port {port} ist frei',
    udp_ports: 'Die Ports {first} bis {last} sind frei',
    udp_ports_any: 'irgendwelche freien (webrtc.port ist 0)',
    udp_ports_taken: '{problems}: Beenden Sie, was sie benutzt, oder setzen Sie webrtc.port',
    address: 'Andere sehen {seen}, wie Sluice es ankündigt; UDP kommt hinaus und zurück',
    address_not_asked:
      'nicht geprüft: In webrtc.iceServers steht kein stun:-Server, der sagen könnte, welche Adresse andere sehen',
    address_silent:
      'keine Antwort über UDP von {servers} innerhalb von 2 s: Vielleicht sperrt eine Firewall UDP, oder ' +
      'webrtc.iceServers ist falsch',
    address_translated:
      'Andere sehen {seen}; dieser Computer ist hinter NAT: Setzen Sie webrtc.publicAddresses darauf und leiten ' +
      'Sie die UDP-Ports von webrtc.port weiter',
    address_wrong:
      'Andere sehen {seen}; in webrtc.publicAddresses steht {announced}: Berichtigen Sie es und leiten Sie die ' +
      'UDP-Ports von webrtc.port weiter',
    url: 'Diese Installation antwortet unter {origin}',
    url_not_asked: 'nicht gefragt, weil auf diesem Computer kein Server läuft',
    url_failed: '{origin}: {problem}; berichtigen Sie DNS, das Zertifikat oder server.publicUrl',
    url_not_reached:
      '{origin}: {problem}; versuchen Sie es aus einem anderen Netz. Gelingt es dort, führt Ihr Router diesen ' +
      'Computer nicht zu sich selbst zurück; sonst öffnen Sie den Port oder berichtigen Sie DNS oder ' +
      'server.publicUrl',
    url_unsigned: 'Sluice antwortet unter {origin}; ohne seinen Sealing-Key lässt sich nicht sagen, welches',
    url_other_sluice:
      '{origin}: Dort antwortet ein Sluice mit anderem Sealing-Key oder einer älteren Version: Berichtigen Sie ' +
      'DNS, den Proxy oder server.publicUrl',
    url_redirects: '{origin} leitet Clients um: Setzen Sie server.publicUrl auf das Ziel',
    url_bad_gateway:
      '{origin} antwortet mit Status {status}: Der Proxy dort erreicht Sluice nicht: Berichtigen Sie die Adresse, ' +
      'an die er Anfragen weitergibt',
    url_stranger:
      '{origin} antwortet mit Status {status}: Dort antwortet etwas anderes als Sluice: Berichtigen Sie den Proxy ' +
      'oder server.publicUrl',
    proxy: '{from} wird vertraut und nennt seine Clients',
    proxy_named: '{from} wird vertraut und nennt seine Clients: Dieser Computer ist {client}',
    proxy_trusted: 'X-Forwarded-For von {proxies} wird vertraut',
    proxy_not_listed:
      'Eine öffentliche URL hat https, also steht ein Proxy davor, aber server.trustedProxies ist leer: Sluice ' +
      'hält alle Clients für den Proxy. Tragen Sie seine Adressen ein',
    proxy_not_trusted:
      '{from} sendet X-Forwarded-For, steht aber nicht in server.trustedProxies: Sluice hält alle Clients für den ' +
      'Proxy. Tragen Sie seine Adresse ein',
    proxy_passes_claims:
      '{from} gibt weiter, was Clients in X-Forwarded-For behaupten, also kann jeder seine Adresse wählen: Lassen ' +
      'Sie ihn den Header setzen oder die Adresse seines Clients anfügen',
    proxy_silent:
      '{from} sendet kein X-Forwarded-For: Sluice hält alle Clients für den Proxy; lassen Sie ihn den Header senden',
    proxy_silent_not_listed:
      '{from} sendet kein X-Forwarded-For: Sluice hält alle Clients für den Proxy; lassen Sie ihn den Header ' +
      'senden und tragen Sie ihn in server.trustedProxies ein',
    udp_buffers: '{limits}',
    udp_buffers_small:
      '{limits}: Bei Schüben an viele Zuschauer gehen Pakete verloren; führen Sie sysctl -w {settings} aus und ' +
      'behalten Sie es in /etc/sysctl.d',
    ffmpeg: '{version}',
    ffmpeg_missing:
      'nicht gefunden: Ohne ffmpeg gehen WebRTC und HLS aus H.264 mit AAC, aber keine Kanäle, Aufnahmen, ' +
      'Kameras und Umwandlungen; installieren Sie es oder setzen Sie ffmpeg.path',
    ffmpeg_broken: '{path} läuft nicht: {problem}; installieren Sie eine andere Version oder setzen Sie ffmpeg.path',
    ffmpeg_old:
      '{version} ist älter als 5.1, also schlagen Kanäle, Aufnahmen und Umwandlungen fehl; installieren Sie eine neuere ' +
      'oder setzen Sie ffmpeg.path',
    ffmpeg_offline: 'Unter diesem Benutzer hat es kein Netzwerk, wo es keines braucht ({launcher})',
    ffmpeg_online: 'unshare geht hier nicht, also behält ffmpeg das Netzwerk dieses Computers',
    encoders: '{names}',
    encoder_missing_libx264:
      'ffmpeg fehlt libx264 (Kanäle und Video mit B-Frames über WebRTC): Installieren Sie eine Version damit ' +
      'oder setzen Sie ffmpeg.path',
    encoder_missing_aac:
      'ffmpeg fehlt aac (HLS und Aufnahmen von Browsern): Installieren Sie eine Version damit oder setzen Sie ' +
      'ffmpeg.path',
    encoder_missing_libopus:
      'ffmpeg fehlt libopus (Ton von RTMP über WebRTC): Installieren Sie eine Version damit oder setzen Sie ' +
      'ffmpeg.path',
    video_encoder: '{name} geht',
    video_encoder_libx264: 'libx264 geht nicht, also läuft kein Kanal: {problem}',
    video_encoder_broken:
      '{name} geht nicht, also startet der Server nicht: {problem}; berichtigen Sie ffmpeg.path, ffmpeg.device ' +
      'oder den Treiber, oder setzen Sie ffmpeg.videoEncoder auf libx264',
    hardware_none: 'Dieses ffmpeg hat keine weiteren',
    hardware_working: '{working} ginge: siehe ffmpeg.videoEncoder',
    hardware_absent: 'ffmpeg hat {absent}, dieser Computer nicht',
    hardware_some: '{working} ginge: siehe ffmpeg.videoEncoder; ffmpeg hat {absent}, dieser Computer nicht',
  },
}
