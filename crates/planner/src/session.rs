//! State shared while one query is planned: limits, unique names, settings, results of subqueries.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use basalt_base::query::checkpoint;
use basalt_base::{Result, bail};
use basalt_sql::ast;

use crate::subquery_rows::SubqueryRows;
use crate::{PlanSettings, PlannerContext};

/// Deeper expressions are refused before they exhaust the stack.
const EXPR_DEPTH_MAX: usize = 500;
/// Deeper queries are refused, whatever the setting says.
const QUERY_DEPTH_MAX: usize = 64;

/// The maximum number of nodes of all expressions of a query, with aliases expanded.
const EXPR_NODES_MAX: usize = 500_000;
/// Nodes between two checks for cancellation.
const CHECKED_NODES: usize = 64;
/// The maximum number of expansions of WITH queries and views. Names that use others twice double with each level.
const EXPANSIONS_MAX: usize = 2_500;

/// The planning of one query.
pub(crate) struct Session<'a> {
    pub(crate) ctx: &'a PlannerContext<'a>,
    /// How often a name was requested, so that the next one differs.
    names: RefCell<HashMap<String, usize>>,
    query_depth: Cell<usize>,
    expr_depth: Cell<usize>,
    /// Nodes of expressions so far.
    expr_nodes: Cell<usize>,
    /// Literals so far: the query checks for cancellation at intervals of literals.
    literals: Cell<usize>,
    /// Names replaced by their queries so far.
    expansions: Cell<usize>,
    /// Results of subqueries: a repeated text runs once.
    answers: RefCell<Vec<(ast::Query, Rc<SubqueryRows>)>>,
    settings: RefCell<Vec<ast::Setting>>,
    /// The settings of the SELECT that is being planned. They may differ from those of the outer query.
    in_force: RefCell<Rc<PlanSettings>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(ctx: &'a PlannerContext<'a>) -> Session<'a> {
        Session {
            ctx,
            names: RefCell::default(),
            query_depth: Cell::new(0),
            expr_depth: Cell::new(0),
            expr_nodes: Cell::new(0),
            literals: Cell::new(0),
            expansions: Cell::new(0),
            answers: RefCell::default(),
            settings: RefCell::default(),
            in_force: RefCell::new(Rc::new(ctx.settings.clone())),
        }
    }

    /// The settings of the SELECT that is being planned.
    pub(crate) fn settings(&self) -> Rc<PlanSettings> {
        Rc::clone(&self.in_force.borrow())
    }

    /// Applies the settings of a SELECT until the guard is dropped.
    pub(crate) fn enter_settings(&self, settings: &[ast::Setting]) -> Result<SettingsGuard<'_>> {
        let before = self.settings();
        if !settings.is_empty() {
            let mut changed = before.as_ref().clone();
            for setting in settings {
                changed.set(setting)?;
            }
            self.in_force.replace(Rc::new(changed));
        }
        Ok(SettingsGuard { in_force: &self.in_force, before })
    }

    /// `stem`, or `stem_2`, ...: a name that is unique in this query.
    pub(crate) fn unique(&self, stem: &str) -> String {
        let mut names = self.names.borrow_mut();
        loop {
            let count = names.entry(stem.to_owned()).or_insert(0);
            *count += 1;
            let name = if *count == 1 { stem.to_owned() } else { format!("{stem}_{count}") };
            if *count == 1 || !names.contains_key(&name) {
                if name != stem {
                    names.insert(name.clone(), 1);
                }
                return name;
            }
        }
    }

    /// Enters a query; dropping the guard leaves it.
    pub(crate) fn enter_query(&self) -> Result<DepthGuard<'_>> {
        checkpoint()?;
        let set = self.ctx.settings.max_subquery_depth;
        let most = if set == 0 { QUERY_DEPTH_MAX } else { set.min(QUERY_DEPTH_MAX) };
        if self.query_depth.get() >= most {
            bail!(TooDeepRecursion, "queries are nested deeper than {most}");
        }
        Ok(DepthGuard::enter(&self.query_depth))
    }

    /// Enters an expression, which counts as one node.
    pub(crate) fn enter_expr(&self) -> Result<DepthGuard<'_>> {
        self.count_nodes(1)?;
        if self.expr_depth.get() >= EXPR_DEPTH_MAX {
            bail!(TooDeepRecursion, "expressions are nested deeper than {EXPR_DEPTH_MAX}");
        }
        Ok(DepthGuard::enter(&self.expr_depth))
    }

    /// Enters a literal, which is not counted as a node: in ClickHouse a list of a million literals is one node.
    pub(crate) fn enter_literal(&self) -> Result<DepthGuard<'_>> {
        let before = self.literals.replace(self.literals.get() + 1);
        if before.is_multiple_of(CHECKED_NODES) {
            checkpoint()?;
        }
        Ok(DepthGuard::enter(&self.expr_depth))
    }

    /// Counts the nodes that replace a name.
    pub(crate) fn count_nodes(&self, nodes: usize) -> Result<()> {
        let before = self.expr_nodes.get();
        let all = before.saturating_add(nodes);
        if all / CHECKED_NODES > before / CHECKED_NODES {
            checkpoint()?;
        }
        self.expr_nodes.set(all);
        if all > EXPR_NODES_MAX {
            bail!(
                BadArguments,
                "query tree is too big: the expressions have more than {EXPR_NODES_MAX} nodes when every alias is \
                 replaced by what it stands for"
            );
        }
        Ok(())
    }

    /// Counts a WITH query or view that is planned in place of its name.
    pub(crate) fn count_expansion(&self) -> Result<()> {
        self.expansions.set(self.expansions.get() + 1);
        if self.expansions.get() > EXPANSIONS_MAX {
            bail!(
                TooManyQueryPlanOptimizations,
                "names of WITH and of views stand for more than {EXPANSIONS_MAX} queries, each counted as often as it \
                 is named"
            );
        }
        Ok(())
    }

    pub(crate) fn answered(&self, query: &ast::Query) -> Option<Rc<SubqueryRows>> {
        let answers = self.answers.borrow();
        answers.iter().find(|(known, _)| known == query).map(|(_, answer)| Rc::clone(answer))
    }

    pub(crate) fn remember(&self, query: &ast::Query, answer: &Rc<SubqueryRows>) {
        self.answers.borrow_mut().push((query.clone(), Rc::clone(answer)));
    }

    pub(crate) fn add_settings(&self, settings: &[ast::Setting]) {
        self.settings.borrow_mut().extend_from_slice(settings);
    }

    pub(crate) fn into_settings(self) -> Vec<ast::Setting> {
        self.settings.into_inner()
    }
}

/// The previous settings, restored on drop.
pub(crate) struct SettingsGuard<'s> {
    in_force: &'s RefCell<Rc<PlanSettings>>,
    before: Rc<PlanSettings>,
}

impl Drop for SettingsGuard<'_> {
    fn drop(&mut self) {
        self.in_force.replace(Rc::clone(&self.before));
    }
}

/// One level of depth, left on drop.
pub(crate) struct DepthGuard<'s>(&'s Cell<usize>);

impl<'s> DepthGuard<'s> {
    fn enter(depth: &'s Cell<usize>) -> DepthGuard<'s> {
        depth.set(depth.get() + 1);
        DepthGuard(depth)
    }
}

impl Drop for DepthGuard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
