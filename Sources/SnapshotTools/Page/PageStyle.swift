import Crypto
import Foundation

/// The appearance of a page: light and dark, on screen and on paper.
enum PageStyle {
    /// The style sheet. In both colour schemes, text has a contrast of at least 4.5 and graphical marks of at least 3.
    static let sheet: StaticString = """
        :root{color-scheme:light dark;--ground:#fff;--raised:#f5f7f9;--text:#1b2127;--soft:#56616c;--line:#d5dbe1;--accent:#0b5cad;
        --ok:#1a6b3c;--notice:#0b5cad;--warning:#8a5200;--error:#b3261e;--okGround:#e7f4ec;--noticeGround:#e8f1fb;--warningGround:#fdf1dc;--errorGround:#fdeceb;
        --p0:#2f6fb2;--p1:#b5541c;--p2:#2e7d4f;--p3:#7a4fb0;--p4:#68727d;--area:#dbe7f4}
        @media (prefers-color-scheme:dark){:root{--ground:#101418;--raised:#191f25;--text:#e7eaed;--soft:#a3aeb9;--line:#323b44;--accent:#86bdf5;
        --ok:#7fd3a0;--notice:#86bdf5;--warning:#e9bb5a;--error:#ff9a91;--okGround:#12291c;--noticeGround:#13263a;--warningGround:#2e2410;--errorGround:#3a1816;
        --p0:#6ea8e5;--p1:#e5945f;--p2:#66bf8a;--p3:#b492e0;--p4:#9aa5b1;--area:#1d2f42}}
        *{box-sizing:border-box}
        html{font:100%/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;-webkit-text-size-adjust:100%}
        body{margin:0 auto;max-width:64rem;padding:2rem 1.25rem 3rem;background:var(--ground);color:var(--text);overflow-wrap:anywhere}
        h1,h2,h3{line-height:1.25;margin:0;text-wrap:balance}
        h1{font-size:1rem;font-weight:600;color:var(--soft)}
        h2{font-size:1.375rem;font-weight:650}
        h3{font-size:1.0625rem;font-weight:650;margin:2.25rem 0 .75rem}
        p{margin:.5rem 0;max-width:46rem}
        a{color:var(--accent)}
        small,.soft{font-size:.875rem;color:var(--soft)}
        .verdict{font-size:1.5rem;line-height:1.35;font-weight:600;margin:.25rem 0 .5rem;max-width:none;text-wrap:balance;
        padding-left:1rem;border-left:.25rem solid var(--ok)}
        .verdict.warning{border-color:var(--warning)}
        .verdict.error{border-color:var(--error)}
        nav ul{list-style:none;margin:1.25rem 0 0;padding:0;display:grid;gap:.5rem}
        section.zone{border-top:1px solid var(--line);margin-top:2.25rem;padding-top:1.75rem}
        section.zone>p{margin-top:.25rem}
        .facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:1px;margin:1.25rem 0 0;
        border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
        .facts div{box-shadow:0 0 0 1px var(--line);padding:.75rem 1rem}
        .facts dt{font-size:.8125rem;color:var(--soft)}
        .facts dd{margin:0;font-size:1.125rem;font-weight:600;font-variant-numeric:tabular-nums}
        .facts small{display:block;font-weight:400}
        .pairs{display:grid;grid-template-columns:minmax(7rem,max-content) minmax(0,1fr);gap:.375rem 1.5rem;margin:0}
        .pairs dt{color:var(--soft)}
        .pairs dd{margin:0}
        .badge{display:inline-block;font-size:.8125rem;font-weight:600;line-height:1.5rem;padding:0 .5rem;border-radius:.25rem;white-space:nowrap}
        .badge.ok{color:var(--ok);background:var(--okGround)}
        .badge.notice{color:var(--notice);background:var(--noticeGround)}
        .badge.warning{color:var(--warning);background:var(--warningGround)}
        .badge.error{color:var(--error);background:var(--errorGround)}
        .findings{list-style:none;margin:0;padding:0}
        .findings li{display:grid;grid-template-columns:5.5rem minmax(0,1fr);gap:.25rem .75rem;padding:.75rem 0;border-top:1px solid var(--line)}
        .findings li:first-child{border-top:0;padding-top:0}
        .findings p{margin:0 0 .25rem}
        .scroll{overflow-x:auto;margin:0 -1.25rem;padding:0 1.25rem}
        table{border-collapse:collapse;width:100%;font-size:.9375rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
        th,td{text-align:left;vertical-align:top;padding:.4375rem 1.25rem .4375rem 0;border-bottom:1px solid var(--line)}
        thead th{font-size:.8125rem;font-weight:600;color:var(--soft);white-space:nowrap;vertical-align:bottom}
        tbody th{font-weight:600}
        .t{white-space:nowrap}
        .prose{min-width:12rem;overflow-wrap:anywhere}
        th:last-child,td:last-child{padding-right:0}
        .n{text-align:right;white-space:nowrap;padding-right:2rem}
        time,.keep{white-space:nowrap}
        code,input{font-family:ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",Menlo,monospace;font-size:.875rem}
        .plot{margin:0 0 1.5rem}
        .plot figcaption{color:var(--soft);font-size:.875rem;margin-bottom:.75rem}
        .panel{display:grid;grid-template-columns:4.5rem minmax(0,1fr);gap:.25rem .75rem;margin-bottom:1rem}
        .scale{display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:.8125rem;line-height:1;color:var(--soft);
        font-variant-numeric:tabular-nums}
        .panel .name{grid-column:2;grid-row:1;font-size:.8125rem;color:var(--soft)}
        .panel .scale{grid-row:2}
        .chart{grid-column:2;grid-row:2;display:block;width:100%;height:7.5rem}
        .grid{fill:none;stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
        .area{fill:var(--area)}
        .line{fill:none;stroke:var(--p0);stroke-width:2;vector-effect:non-scaling-stroke}
        .p0{fill:var(--p0)}.p1{fill:var(--p1)}.p2{fill:var(--p2)}.p3{fill:var(--p3)}.p4{fill:var(--p4)}
        .point:hover rect{opacity:.7}
        .times{display:flex;justify-content:space-between;margin-left:5.25rem;font-size:.8125rem;color:var(--soft);font-variant-numeric:tabular-nums}
        .legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:.75rem 0 0 5.25rem;padding:0;font-size:.875rem}
        .swatch{width:.75rem;height:.75rem;margin-right:.5rem}
        .meter{display:block;width:100%;min-width:6rem;height:.5rem;margin-top:.375rem}
        .meter .track{fill:var(--line)}
        .meter .ok{fill:var(--p0)}.meter .warning{fill:var(--warning)}.meter .error{fill:var(--error)}
        details{margin:.75rem 0}
        summary{cursor:pointer;color:var(--accent);width:fit-content}
        details[open]>summary{margin-bottom:.75rem}
        .commands{list-style:none;margin:0;padding:0;display:grid;gap:.875rem}
        .commands label{display:block;font-size:.875rem;color:var(--soft);margin-bottom:.25rem}
        .commands input{width:100%;color:var(--text);background:var(--raised);border:1px solid var(--line);border-radius:.25rem;padding:.5rem .625rem}
        .commands code{display:none}
        :focus-visible{outline:2px solid var(--accent);outline-offset:2px}
        footer{border-top:1px solid var(--line);margin-top:3rem;padding-top:1rem}
        @media (max-width:40rem){body{padding:1.25rem 1rem 2rem}.scroll{margin:0 -1rem;padding:0 1rem}.verdict{font-size:1.25rem}
        .findings li{grid-template-columns:minmax(0,1fr)}.pairs{grid-template-columns:minmax(0,1fr);gap:0}.pairs dd{margin-bottom:.625rem}
        .facts{grid-template-columns:repeat(2,minmax(0,1fr))}.facts div{padding:.625rem .75rem}
        .panel{grid-template-columns:minmax(0,1fr)}.panel .name{grid-column:1}.panel .chart{grid-column:1}.scale{display:none}
        .times,.legend{margin-left:0}th,td{padding-right:1rem}}
        @media print{:root{color-scheme:light;--ground:#fff;--raised:#fff;--text:#000;--soft:#444;--line:#bbb;--accent:#000}
        body{max-width:none;padding:0}.scroll{overflow:visible;margin:0;padding:0}h3,tr,.findings li,.panel{break-inside:avoid}h2,h3{break-after:avoid}
        .commands input{display:none}.commands code{display:block}details::details-content{content-visibility:visible;display:block}
        .point rect,.line,.area,.meter rect,.swatch rect,.badge{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
        """

    /// The Content-Security-Policy: a browser may apply this style sheet and nothing else. It runs no script, loads nothing and sends nothing.
    static let policy: String = {
        let digest = SHA256.hash(data: Data(sheet.description.utf8))
        return "default-src 'none'; style-src 'sha256-\(Data(digest).base64EncodedString())'; base-uri 'none'; form-action 'none'"
    }()
}
