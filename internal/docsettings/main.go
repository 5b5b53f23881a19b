// Command docsettings writes the tables of settings in the pages in docs/algorithms (`make
// docs-settings`), from the comments and defaults of the structs. It runs at the root of the
// checkout. A page has a table between two comments, the first of which names its algorithms, and
// one whose settings the table leaves out where they are the same:
//
//	<!-- settings: aurora aurora-xcon, like map-elites -->
//	<!-- end of settings -->
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "docsettings:", err)
		os.Exit(1)
	}
}

// write renews the tables of all pages of a checkout.
func write(root string) error {
	pages, err := filepath.Glob(filepath.Join(root, "docs/algorithms/*.md"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("no pages in %s/docs/algorithms: %v", root, err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		renewed, err := renew(root, string(page))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(renewed), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// marked matches a table with its two comments.
var marked = regexp.MustCompile(
	`(?s)<!-- settings: ([a-z0-9 -]+?)(?:, like ([a-z0-9-]+))? -->\n.*?<!-- end of settings -->`)

// renew returns a page with new tables.
func renew(root, page string) (string, error) {
	var failed error
	comments := comments{root: root, of: map[string]map[string]string{}}
	page = marked.ReplaceAllStringFunc(page, func(old string) string {
		match := marked.FindStringSubmatch(old)
		rows, err := table(comments, strings.Fields(match[1]), match[2])
		if err != nil {
			failed = err
		}
		first, _, _ := strings.Cut(old, "\n")
		return first + "\n\n" + rows + "\n<!-- end of settings -->"
	})
	return page, failed
}
